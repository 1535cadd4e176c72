import { once } from 'node:events';
import { appendFileSync, mkdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { EventBody } from '../schema/event.ts';
import { newInboxId, newRunId, newSquadId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Run } from '../schema/run.ts';
import { aRun, aSquad } from '../store/fixtures/sample-rows.ts';
import { WebFixture } from './testing/web-fixture.ts';

const note = (text: string): EventBody => ({ type: 'run.activity', kind: 'note', text });
const setting = (value: string): EventBody => ({ type: 'setting.changed', key: 'x', value });

async function withRun(fixture: WebFixture, overrides: Partial<Run> = {}): Promise<Run> {
  const squad = aSquad();
  const run = aRun(squad, { status: 'running', endedAt: null, turn: 1, ...overrides });
  await fixture.store.commit({ squads: [squad], runs: [run], events: [] });
  fixture.live.set(run.id, run);
  return run;
}

const item = (run: Run, state: InboxItem['state']): InboxItem => ({
  id: newInboxId(),
  runId: run.id,
  squadId: newSquadId(),
  kind: 'question',
  source: null,
  question: 'Which?',
  details: null,
  choices: [],
  fields: [],
  owner: 'user',
  default: null,
  createdAt: 1,
  deadlineAt: 2,
  state,
  answer: null,
  answeredBy: null,
  answeredAt: null,
  heardAt: null,
});

describe('a connected web UI', () => {
  test('gets a hello with version, start time and newest event', async () => {
    await using fixture = await WebFixture.start();
    await fixture.event(setting('a'));
    const client = await fixture.openClient();
    expect(await client.receives('hello')).toEqual({
      type: 'hello',
      version: '1.2.3',
      hubStartedAt: 5,
      last: 1,
    });
  });

  test('gets events, each with the current state of the runs and questions it concerns', async () => {
    await using fixture = await WebFixture.start();
    const run = await withRun(fixture);
    const client = await fixture.openClient();
    await client.receives('hello');
    const asked = item(run, 'open');
    await Promise.all([
      fixture.event(note('one'), run.id),
      fixture.event(note('two'), run.id),
      fixture.event({ type: 'inbox.asked', item: asked }, run.id),
      fixture.event({ type: 'inbox.settled', item: { ...asked, state: 'answered' } }, run.id),
    ]);
    await expect.poll(() => client.ofType('changes').at(-1)?.last).toBe(4);
    const heard = client.ofType('changes');
    expect(heard.flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual([1, 2, 3, 4]);
    expect(heard.at(-1)!.runs).toEqual([{ id: run.id, status: 'running' }]);
    expect(heard.at(-1)!.inbox.map(({ state }) => state)).toEqual(['answered']);
  });

  test('gets the card of a reviewer when a review is requested', async () => {
    await using fixture = await WebFixture.start();
    const [coder, reviewer] = [await withRun(fixture), await withRun(fixture)];
    const client = await fixture.openClient();
    await client.receives('hello');
    const body = { reviewId: 'review_0123456789', iteration: 1, commit: 'c', reviewerId: reviewer.id };
    await fixture.event({ type: 'review.requested', ...body } as EventBody, coder.id);
    const { runs } = await client.receives('changes');
    expect(runs.map(({ id }) => id)).toEqual([coder.id, reviewer.id]);
  });

  test('gets no card for a run that no longer exists', async () => {
    await using fixture = await WebFixture.start();
    const client = await fixture.openClient();
    await client.receives('hello');
    await fixture.event(note('gone'), newRunId());
    expect(await client.receives('changes')).toMatchObject({ runs: [], events: [{ seq: 1 }] });
  });

  test('counts as a client until it disconnects', async () => {
    await using fixture = await WebFixture.start();
    const client = await fixture.openClient();
    await client.receives('hello');
    await expect.poll(() => fixture.open).toBe(1);
    client.socket.close();
    await expect.poll(() => fixture.open).toBe(0);
  });

  test('gets a goodbye when the hub stops', async () => {
    await using fixture = await WebFixture.start();
    const client = await fixture.openClient();
    await client.receives('hello');
    await fixture.close();
    expect(await client.closed).toEqual({ code: 1001, why: 'The hub stops' });
  });

  test('that never answers the goodbye does not delay the stop of the hub', async () => {
    await using fixture = await WebFixture.start();
    const socket = await deaf(fixture);
    await fixture.close();
    socket.destroy();
  });
});

describe('a web UI that reconnects', () => {
  test('gets exactly the events it missed, also when events happen while it connects', {
    tags: ['D9'],
  }, async () => {
    await using fixture = await WebFixture.start();
    const run = await withRun(fixture);
    for (let i = 0; i < 40; i++) await fixture.event(note(`before ${i}`), run.id);
    const coming = Promise.all([5, 17, 39, 40].map(after => fixture.openClient(after)));
    for (let i = 0; i < 40; i++) await fixture.event(note(`meanwhile ${i}`), run.id);
    const pages = await coming;
    for (const [i, after] of [5, 17, 39, 40].entries()) {
      const client = pages[i]!;
      await expect.poll(() => client.ofType('changes').at(-1)?.last).toBe(80);
      const seqs = client.ofType('changes').flatMap(({ events }) => events.map(({ seq }) => seq));
      expect(seqs).toEqual(Array.from({ length: 80 - after }, (_, j) => after + 1 + j));
    }
  });

  test('with nothing missed gets only the hello', async () => {
    await using fixture = await WebFixture.start();
    await fixture.event(setting('a'));
    const client = await fixture.openClient(1);
    await client.receives('hello');
    await fixture.event(setting('b'));
    await client.receives('changes');
    expect(client.received.map(({ type }) => type)).toEqual(['hello', 'changes']);
  });

  test('with too much missed gets a reset, then later events', async () => {
    await using fixture = await WebFixture.start();
    const events = Array.from({ length: 1_001 }, () => ({
      at: 1,
      runId: null,
      squadId: null,
      body: setting('many'),
    }));
    await fixture.store.commit({ events });
    const client = await fixture.openClient(0);
    expect(await client.receives('reset')).toMatchObject({ last: 1_001 });
    await fixture.event(setting('next'));
    expect((await client.receives('changes')).events.map(({ seq }) => seq)).toEqual([1_002]);
    expect((await (await fixture.openClient(2)).receives('changes')).events).toHaveLength(1_000);
  });

  test.each(['7', '-1', '1.5', 'x', '99999999999999999999', '1e2', ''])(
    'with a number it was never given gets a reset: %j',
    async after => {
      await using fixture = await WebFixture.start();
      await fixture.event(setting('a'));
      const client = await fixture.openClient(after as unknown as number);
      expect(await client.receives('reset')).toMatchObject({ last: 1 });
    },
  );
});

test('more events than fit into one message are sent as a reset', async () => {
  await using fixture = await WebFixture.start({ times: { flushMs: 200 } });
  const client = await fixture.openClient();
  await client.receives('hello');
  const many = Array.from({ length: 1_500 }, () => ({
    at: 1,
    runId: null,
    squadId: null,
    body: setting('x'),
  }));
  await fixture.store.commit({ events: many });
  expect(await client.receives('reset')).toMatchObject({ last: 1_500 });
  await fixture.event(setting('after'));
  expect(await client.receives('changes')).toMatchObject({ last: 1_501, events: [{ seq: 1_501 }] });
});

test('a failure while changes are computed is sent as a reset', async () => {
  await using fixture = await WebFixture.start();
  const run = await withRun(fixture);
  const client = await fixture.openClient();
  await client.receives('hello');
  fixture.live.set(run.id, new Proxy(run, { get: () => failing() }));
  await fixture.event(note('x'), run.id);
  expect(await client.receives('reset')).toMatchObject({ last: 1 });
  expect(fixture.errors).toHaveLength(1);
});

describe('a web UI that reads nothing', () => {
  test('is not sent everything, and gets a reset when it reads again', async () => {
    await using fixture = await WebFixture.start({ times: { flushMs: 1 } });
    const [slow, quick] = [await fixture.openClient(), await fixture.openClient()];
    await Promise.all([slow.receives('hello'), quick.receives('hello')]);
    slow.socket.pause();
    // Forty megabytes: more than what the system keeps for a connection, and we.
    for (let i = 1; i <= 400; i++) {
      await fixture.event(setting('x'.repeat(100 * 1024)));
      await quick.receives('changes', i);
    }
    slow.socket.resume();
    expect(await slow.receives('reset')).toMatchObject({ last: 400 });
    expect(slow.ofType('changes').length).toBeLessThan(300);
    await fixture.event(setting('again'));
    await expect.poll(() => slow.ofType('changes').at(-1)?.last).toBe(401);
    expect(quick.ofType('reset')).toEqual([]);
  });

  test('and answers no heartbeat is disconnected', async () => {
    await using fixture = await WebFixture.start({ times: { beatMs: 20, silentMs: 150 } });
    const socket = await deaf(fixture);
    await expect.poll(() => fixture.open).toBe(1);
    await expect.poll(() => fixture.open).toBe(0);
    socket.destroy();
  });
});

test('a web UI that answers heartbeats stays connected and gets heartbeats', async () => {
  await using fixture = await WebFixture.start({ times: { beatMs: 20, silentMs: 1_000 } });
  const client = await fixture.openClient();
  await client.receives('beat', 60);
  expect(client.socket.readyState).toBe(WebSocket.OPEN);
});

describe('a watched output', () => {
  const target = (run: Run, turn = 1) => ({ runId: run.id, turn, stream: 'stdout' as const });
  const write = (fixture: WebFixture, run: Run, text: string, turn = 1) => {
    const file = fixture.files.outputPath({ runId: run.id, number: turn }, 'stdout');
    mkdirSync(dirname(file), { recursive: true });
    appendFileSync(file, text);
  };

  test('is reported at once, whenever it grows, and once when it is over', async () => {
    await using fixture = await WebFixture.start();
    const run = await withRun(fixture);
    write(fixture, run, 'four');
    const client = await fixture.openClient();
    await client.receives('hello');
    client.send({ type: 'watch', ...target(run) });
    expect(await client.receives('grew')).toEqual({
      type: 'grew',
      ...target(run),
      size: 4,
      messages: 0,
      isOver: false,
    });
    write(fixture, run, 'more');
    expect(await client.receives('grew', 2)).toMatchObject({ size: 8, isOver: false });
    write(fixture, run, '!');
    fixture.live.delete(run.id);
    await expect.poll(() => client.ofType('grew').at(-1)).toMatchObject({ size: 9, isOver: true });
    const count = client.received.length;
    write(fixture, run, 'too late');
    await fixture.event(setting('later'));
    await client.receives('changes');
    expect(client.received.length).toBe(count + 1);
  });

  test('of an ended turn or an unknown run is reported as over', async () => {
    await using fixture = await WebFixture.start();
    const run = await withRun(fixture, { turn: 2 });
    const client = await fixture.openClient();
    client.socket.once('open', () => {
      client.send({ type: 'watch', ...target(run, 1) });
      client.send({ type: 'watch', ...target({ id: newRunId() } as Run) });
    });
    expect(await client.receives('grew')).toMatchObject({ size: 0, isOver: true });
    expect(await client.receives('grew', 2)).toMatchObject({ size: 0, isOver: true });
  });

  test('is not reported to a web UI that has stopped watching', async () => {
    await using fixture = await WebFixture.start();
    const run = await withRun(fixture);
    const [one, other] = [await fixture.openClient(), await fixture.openClient()];
    await Promise.all([one.receives('hello'), other.receives('hello')]);
    for (const client of [one, other]) client.send({ type: 'watch', ...target(run) });
    await Promise.all([one.receives('grew'), other.receives('grew')]);
    one.send({ type: 'unwatch', ...target(run) });
    one.send({ type: 'watch', ...target(run, 2) });
    await one.receives('grew', 2);
    write(fixture, run, 'x');
    await other.receives('grew', 2);
    expect(one.ofType('grew').filter(({ turn }) => turn === 1)).toHaveLength(1);
  });

  test('more than the limit ends the connection; the same output again does not', async () => {
    await using fixture = await WebFixture.start();
    const client = await fixture.openClient();
    await client.receives('hello');
    const runs = await Promise.all(Array.from({ length: 9 }, () => withRun(fixture)));
    for (const run of [...runs.slice(0, 8), runs[0]!]) client.send({ type: 'watch', ...target(run) });
    await client.receives('grew', 8);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    client.send({ type: 'watch', ...target(runs[8]!) });
    expect(await client.closed).toMatchObject({ code: 1008 });
  });
});

test.each([
  ['no JSON', '{'],
  ['another type', '{"type":"cancel"}'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a run id that leads elsewhere', '{"type":"watch","runId":"../../etc","turn":1,"stream":"stdout"}'],
  ['another file', '{"type":"watch","runId":"run_0123456789","turn":1,"stream":"identity.json"}'],
  ['a turn that is none', '{"type":"watch","runId":"run_0123456789","turn":0,"stream":"stdout"}'],
  ['a field too many', '{"type":"watch","runId":"run_0123456789","turn":1,"stream":"stdout","x":1}'],
  ['bytes', Buffer.from([0, 1, 2])],
])('a client that sends what no page sends is disconnected: %s', async (_what, words) => {
  await using fixture = await WebFixture.start();
  const client = await fixture.openClient();
  await client.receives('hello');
  client.socket.send(words);
  expect(await client.closed).toMatchObject({ code: 1008 });
  expect(fixture.errors).toEqual([]);
});

test('a client that sends too large a message is disconnected before it is read', async () => {
  await using fixture = await WebFixture.start();
  const client = await fixture.openClient();
  await client.receives('hello');
  client.socket.send('x'.repeat(64 * 1024 * 1024));
  expect(await client.closed).toMatchObject({ code: 1009 });
});

describe('a ticket', () => {
  const opens = async (fixture: WebFixture, query: string, headers = {}): Promise<boolean> => {
    const socket = new WebSocket(`ws://127.0.0.1:${fixture.port}/api/live${query}`, { headers });
    socket.on('error', () => {});
    const isOpen = await new Promise<boolean>(settle => {
      socket.once('open', () => settle(true));
      socket.once('close', () => settle(false));
    });
    socket.terminate();
    return isOpen;
  };

  test('opens the feed once', { tags: ['cross-site-websocket-hijack'] }, async () => {
    await using fixture = await WebFixture.start();
    const ticket = await fixture.ticket();
    expect(await opens(fixture, `?ticket=${ticket}`)).toBe(true);
    expect(await opens(fixture, `?ticket=${ticket}`)).toBe(false);
  });

  test('of a session keeps the session as long as the feed is open', async () => {
    await using fixture = await WebFixture.start();
    const { token } = fixture.sessions.open(fixture.webHost);
    const held = vi.spyOn(fixture.sessions, 'hold');
    const answer = await fixture.ask('/api/ticket', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"purpose":"live"}',
    });
    const { ticket } = JSON.parse(answer.text) as { ticket: string };
    expect(await opens(fixture, `?ticket=${ticket}`, { host: fixture.webHost })).toBe(true);
    expect(held).toHaveBeenCalledExactlyOnceWith(token.split('.')[0]);
    await fixture.openClient();
    expect(held).toHaveBeenCalledOnce();
  });

  test('does not open it when it is late, for something else, made up, or not there', {
    tags: ['cross-site-websocket-hijack'],
  }, async () => {
    await using fixture = await WebFixture.start();
    const late = await fixture.ticket();
    fixture.now += 30_000;
    expect(await opens(fixture, `?ticket=${late}`)).toBe(false);
    expect(await opens(fixture, `?ticket=${fixture.key()}`)).toBe(false);
    for (const query of ['', '?ticket=', '?ticket=x', '?ticket[]=x'])
      expect(await opens(fixture, query)).toBe(false);
  });

  test('does not open it to a page of another site, or by another name, and is not used up by that', {
    tags: ['cross-site-websocket-hijack'],
  }, async () => {
    await using fixture = await WebFixture.start();
    const ticket = await fixture.ticket();
    expect(await opens(fixture, `?ticket=${ticket}`, { origin: 'http://evil.example' })).toBe(false);
    expect(await opens(fixture, `?ticket=${ticket}`, { host: `evil.example:${fixture.port}` })).toBe(false);
    expect(await opens(fixture, `?ticket=${ticket}`, { origin: fixture.origin })).toBe(true);
  });

  test('is not given to an agent, nor is the token a ticket', {
    tags: ['cross-site-websocket-hijack'],
  }, async () => {
    await using fixture = await WebFixture.start();
    fixture.callers.set('of-a-run', { parent: { id: newRunId() } } as never);
    const response = await fixture.post('/api/ticket', { purpose: 'live' }, { token: 'of-a-run' });
    expect([response.status, await response.json()]).toEqual([
      403,
      { error: expect.objectContaining({ code: 'NOT_ALLOWED' }) },
    ]);
    expect(await opens(fixture, '?ticket=the-token-of-the-user')).toBe(false);
    expect(await opens(fixture, '', { authorization: 'Bearer the-token-of-the-user' })).toBe(false);
  });

  test.each([
    [{}, 400],
    [{ purpose: 'all' }, 400],
    [{ purpose: 'open' }, 400],
    [{ purpose: 'live', note: 'x'.repeat(500) }, 400],
    [{ purpose: 'download', run: 'run_0123456789', offset: 1 }, 400],
  ])('is not given for %j', async (body, status) => {
    await using fixture = await WebFixture.start();
    expect((await fixture.post('/api/ticket', body)).status).toBe(status);
  });

  test('that is not valid is refused with a message, like every other refusal', async () => {
    await using fixture = await WebFixture.start();
    const good = await fixture.ticket();
    for (const [ticket, key, status, code] of [
      ['x', 'AAAAAAAAAAAAAAAAAAAAAA==', 401, 'TICKET_WRONG'],
      [good, 'no key', 400, 'INVALID_INPUT'],
    ] as const) {
      const socket = connect(fixture.port, '127.0.0.1');
      let heard = '';
      socket.setEncoding('utf8').on('data', chunk => {
        heard += chunk;
      });
      socket.write(handshake(fixture, ticket, key));
      await once(socket, 'close');
      const [head = '', body = ''] = heard.split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      for (const header of ['nosniff', 'no-store', 'cross-origin-resource-policy: same-origin'])
        expect(head).toContain(header);
      expect(JSON.parse(body)).toEqual({
        error: {
          ...{ code, kind: 'usage', details: null },
          ...{ message: expect.any(String), suggestions: expect.any(Array) },
        },
      });
    }
  });
});

test('a plain request for the feed is answered with an explanation', async () => {
  await using fixture = await WebFixture.start();
  expect((await fixture.fetch('/api/live', { token: null })).status).toBe(426);
});

/** A WebSocket in name only: it says what opens one, and then neither reads nor says anything. */
async function deaf(fixture: WebFixture): Promise<Socket> {
  const socket = connect(fixture.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(handshake(fixture, await fixture.ticket()));
  await once(socket, 'data');
  socket.pause();
  return socket;
}

const handshake = (fixture: WebFixture, ticket: string, key = 'AAAAAAAAAAAAAAAAAAAAAA=='): string =>
  [
    `GET /api/live?ticket=${ticket} HTTP/1.1`,
    `Host: 127.0.0.1:${fixture.port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${key}`,
    ...['', ''],
  ].join('\r\n');

function failing(): never {
  throw new Error('it cannot be read');
}
