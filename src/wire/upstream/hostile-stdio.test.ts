import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../testing/until.ts';
import { type LinkEvents, UpstreamFault, type UpstreamLink } from './link.ts';
import { openStdioLink } from './stdio-link.ts';
import {
  clientInfo,
  type Heard,
  linkTo,
  listener,
  type StdioRig,
  startFixture,
} from './testing/stdio-rig.ts';

const rigs: StdioRig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.end();
});

async function hostile(
  mode: string,
  more: { onRequest?: LinkEvents['onRequest']; maxFrameBytes?: number } = {},
): Promise<{ rig: StdioRig; link: UpstreamLink; heard: Heard }> {
  const heard = listener(more.onRequest);
  const rig = startFixture('hostile-server.ts', mode);
  rigs.push(rig);
  const { maxFrameBytes } = more;
  const link = await linkTo(rig, heard.events, maxFrameBytes ? { maxFrameBytes } : {});
  return { rig, link, heard };
}

const call = (link: UpstreamLink, timeoutMs = 30_000) =>
  link.request('tools/call', { name: 'x', arguments: {} }, { timeoutMs });
const faultOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch(error => error);
const answersIn = (heard: Heard) => heard.notices[0]!.params.answers as unknown[];
const said = (text: string) => ({ content: [{ type: 'text', text }] });

describe('the end of a process', () => {
  test('in the middle of an answer fails every request at once', async () => {
    const { link } = await hostile('dies-mid-frame');
    const faults = await Promise.all([call(link), call(link), call(link)].map(faultOf));
    for (const fault of faults) expect(fault).toMatchObject({ kind: 'exit' });
    expect((await link.closed).message).toContain('7');
    expect(link.inFlight()).toBe(0);
  });

  test('does not swallow what it said before', async () => {
    const { link } = await hostile('answers-then-dies');
    expect(await call(link)).toEqual(said('last words'));
    expect(await link.closed).toMatchObject({ kind: 'exit' });
  });

  test('does not hide what is still in the pipe, nor wait for ever for what never comes', async () => {
    const { events } = listener();
    const end = Promise.withResolvers<{ code: number; signal: null }>();
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const opening = openStdioLink({
      stdin,
      stdout,
      ended: end.promise,
      events,
      clientInfo,
      startTimeoutMs: 5000,
    });
    stdout.write('{"id":1,"result":{"protocolVersion":"2025-06-18"}}\n');
    const link = await opening;
    const answered = call(link);
    const unanswered = faultOf(call(link));
    end.resolve({ code: 0, signal: null });
    await new Promise(resolve => setImmediate(resolve));
    // Something it started still holds the pipe.
    stdout.write('{"id":2,"result":{"late":true}}\n');
    expect(await answered).toEqual({ late: true });
    expect(await unanswered).toMatchObject({ kind: 'exit' });
  });

  test('by a signal is reported as such', async () => {
    const { rig, link } = await hostile('silent');
    const fault = faultOf(call(link));
    rig.child.kill('SIGKILL');
    expect(await fault).toMatchObject({ kind: 'exit', message: expect.stringContaining('SIGKILL') });
  });

  test('before the handshake fails the opening', async () => {
    const rig = startFixture('no-such-file.ts');
    rigs.push(rig);
    expect(await faultOf(linkTo(rig, listener().events))).toMatchObject({ kind: 'exit' });
  });
});

describe('silence', () => {
  test('ends in a timeout, the server is notified, and the link stays open', async () => {
    const { rig, link } = await hostile('silent');
    expect(await faultOf(call(link, 200))).toMatchObject({ kind: 'timeout' });
    await until(() => rig.log().includes('"notifications/cancelled"'), 'the server hears of it');
    expect(link.inFlight()).toBe(0);
  });

  test('of a stopped process is over when it goes on', { tags: ['R19'] }, async () => {
    const { rig, link, heard } = await hostile('echo');
    rig.child.kill('SIGSTOP');
    expect(await faultOf(call(link, 200))).toMatchObject({ kind: 'timeout' });
    rig.child.kill('SIGCONT');
    expect(await call(link)).toHaveProperty('params');
    // The answer to the first came, too late for anybody.
    expect(heard.stray).toBe(1);
  });

  test('is not what progress is: each notice begins the time anew', async () => {
    const { link } = await hostile('progress');
    const seen: number[] = [];
    const result = await link.request(
      'tools/call',
      {},
      { timeoutMs: 2_000, onProgress: ({ progress }) => seen.push(progress) },
    );
    expect(result).toEqual(said('slow'));
    expect(seen).toHaveLength(10);
    expect(await faultOf(call(link, 700))).toMatchObject({ kind: 'timeout' });
  });

  test('from the start fails the opening in time', async () => {
    const rig = startFixture('../testing/stdio-rig.ts');
    rigs.push(rig);
    rig.child.kill('SIGSTOP');
    const opening = linkTo(rig, listener().events, { startTimeoutMs: 200 });
    expect(await faultOf(opening)).toMatchObject({ kind: 'timeout' });
  });
});

describe('unsolicited messages', () => {
  test('is skipped: print-outs, blank lines, things that are no messages', async () => {
    const { link, heard } = await hostile('junk');
    expect(await call(link)).toEqual(said('after junk'));
    // Not the blank lines, and not the empty batch.
    expect(heard.stray).toBe(6);
  });

  test('is thrown away: second answers, answers to nobody, progress after the end', async () => {
    const { link, heard } = await hostile('duplicates');
    expect(await call(link)).toEqual(said('first'));
    await until(() => heard.notices.length === 1, 'all of it has come');
    expect(heard.stray).toBe(5);
  });

  test('never reaches another request: an id that is over answers nothing', { tags: ['R9'] }, async () => {
    const { link, heard } = await hostile('someone-elses-id');
    const faults = await Promise.all([call(link, 300), call(link, 300)].map(faultOf));
    // The second answer bears the first one's id, and that one is still open: it can only be believed.
    expect(faults.map(each => each instanceof UpstreamFault)).toEqual([false, true]);
    expect(heard.stray).toBe(1);
  });
});

describe('too much', () => {
  test.each(['huge-frame', 'no-newline'])('(%s) ends the link after what came before', async mode => {
    const { link } = await hostile(mode);
    const before = process.memoryUsage().rss;
    expect(await call(link)).toEqual(said('before'));
    expect(await link.closed).toMatchObject({
      kind: 'transport',
      message: expect.stringContaining('67108864 bytes'),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  const ask = (link: UpstreamLink, name: string) =>
    faultOf(link.request('tools/call', { name }, { timeoutMs: 30_000 }));

  test.each(['id-first', 'id-last'])('in one answer (%s) is its own affair', async name => {
    const { link, heard } = await hostile('large-answer');
    const [large, small] = await Promise.all([ask(link, name), ask(link, 'small')]);
    expect(large).toMatchObject({
      kind: 'answer',
      message: expect.stringContaining('8388608 bytes'),
      error: { code: -32603, message: expect.stringContaining('too large') },
    });
    expect(small).toEqual(said('small'));
    expect(await ask(link, 'small')).toEqual(said('small'));
    expect(heard.stray).toBe(0);
  });

  test.each(['question', 'no-id'])('in what may be no answer (%s) ends the link', async name => {
    const { link } = await hostile('large-answer');
    expect(await ask(link, name)).toMatchObject({
      kind: 'transport',
      message: expect.stringContaining('8388608 bytes'),
    });
    expect(await link.closed).toMatchObject({ kind: 'transport' });
  });

  test('is not a million little messages', async () => {
    const { link, heard } = await hostile('tiny-frames');
    let notices = 0;
    heard.events.onNotification = () => {
      notices++;
    };
    expect(await call(link)).toEqual(said('after a million'));
    expect(notices).toBe(1_000_000);
  });

  test('is not a deeply nested answer', async () => {
    const { link } = await hostile('deep-json');
    expect(await call(link)).toHaveProperty('deep');
  });

  test('for a server that no longer reads is not kept for it', async () => {
    const { link } = await hostile('stops-reading');
    await call(link);
    const text = 'x'.repeat(1024 * 1024);
    const asked = Array.from({ length: 40 }, () =>
      faultOf(link.request('tools/call', { text }, { timeoutMs: 500 })),
    );
    const kinds = (await Promise.all(asked)).map(fault => (fault as UpstreamFault).kind);
    const kept = kinds.filter(kind => kind === 'timeout').length;
    expect(kinds.filter(kind => kind === 'transport').length).toBe(40 - kept);
    expect(kept).toBeGreaterThan(10);
    expect(kept).toBeLessThan(20);
  });
});

describe('requests of a server', () => {
  test('is refused where nobody can be asked, but for a ping', async () => {
    const { link, heard } = await hostile('asks-for-sampling');
    void faultOf(call(link));
    await until(() => heard.notices.length === 1, 'both were answered');
    expect(answersIn(heard)).toEqual([
      { jsonrpc: '2.0', id: 'ping-1', result: {} },
      {
        jsonrpc: '2.0',
        id: expect.stringMatching(/^ask-/),
        error: { code: -32601, message: 'Method not found' },
      },
    ]);
  });

  test('is answered by whoever has it to himself', async () => {
    const { link, heard } = await hostile('asks-for-sampling', {
      onRequest: async (method, params) => ({ method, params }),
    });
    void faultOf(call(link));
    await until(() => heard.notices.length === 1, 'both were answered');
    expect(answersIn(heard)[1]).toMatchObject({
      result: { method: 'sampling/createMessage', params: { a: 1 } },
    });
  });

  test('and the one who was asked refuses: the server hears that there is no such method', async () => {
    const { link, heard } = await hostile('asks-for-sampling', {
      onRequest: async () => {
        throw new Error('a secret');
      },
    });
    void faultOf(call(link));
    await until(() => heard.notices.length === 1, 'both were answered');
    expect(answersIn(heard)[1]).toMatchObject({ error: { code: -32601 } });
    expect(JSON.stringify(heard.notices)).not.toContain('a secret');
  });
});

test('an error comes as the server gave it', async () => {
  const { link } = await hostile('refuses');
  expect(await faultOf(call(link))).toMatchObject({
    kind: 'answer',
    error: { code: -32042, message: 'No.', data: { why: 'because' } },
  });
});

test('a result that is none is a fault of the server', async () => {
  const { link } = await hostile('bad-results');
  expect(await faultOf(call(link))).toMatchObject({ kind: 'transport' });
});

test('messages in one batch are taken one by one', async () => {
  const { link, heard } = await hostile('batch');
  expect(await call(link)).toEqual({ content: [] });
  expect(heard.notices).toEqual([{ method: 'notifications/x', params: {} }]);
});

test('a token of the caller never leaves', async () => {
  const { link } = await hostile('echo');
  const params = { name: 'x', _meta: { progressToken: 'mine', 'io.modelcontextprotocol/clientInfo': {} } };
  expect(await link.request('tools/call', params, { timeoutMs: 5000 })).toEqual({ params: { name: 'x' } });
  const answer = await link.request('tools/call', params, { timeoutMs: 5000, onProgress: () => {} });
  expect(answer).toEqual({ params: { name: 'x', _meta: { progressToken: expect.any(Number) } } });
});

test('a start that is taken back is over at once', async () => {
  const taken = new AbortController();
  taken.abort();
  const rig = startFixture('hostile-server.ts', 'silent');
  rigs.push(rig);
  const opening = linkTo(rig, listener().events, { signal: taken.signal });
  expect(await faultOf(opening)).toMatchObject({ kind: 'cancelled' });
});
