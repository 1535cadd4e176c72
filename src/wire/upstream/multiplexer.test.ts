import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Json, type LinkEvents, UpstreamFault } from './link.ts';
import { Multiplexer } from './multiplexer.ts';
import { listener } from './testing/stdio-rig.ts';

const MINUTE = 60_000;

/** A multiplexer whose other end is in the test's hands. */
function given(onRequest?: LinkEvents['onRequest']) {
  const heard = listener(onRequest);
  const mux = new Multiplexer(heard.events);
  const sent: Json[] = [];
  const cancelled: number[] = [];
  mux.attach({
    send: message => void sent.push(message),
    cancel: id => void cancelled.push(id),
  });
  return { mux, heard, sent, cancelled };
}

describe('time', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test.each([1, 20])('of %i minutes is begun anew by progress, for half an hour in all', async minutes => {
    const { mux, sent, cancelled } = given();
    const call = mux.request('x', {}, { timeoutMs: minutes * MINUTE, onProgress: () => {} });
    const outcome = expect(call).rejects.toMatchObject({ kind: 'timeout' });
    const progressToken = (sent[0] as { params: { _meta: Json } }).params._meta.progressToken;
    for (let second = 30; second < 1800; second += 30) {
      vi.advanceTimersByTime(30_000);
      mux.receive({ method: 'notifications/progress', params: { progressToken, progress: second } });
    }
    expect(mux.inFlight).toBe(1);
    vi.advanceTimersByTime(30_000);
    await outcome;
    expect(cancelled).toEqual([sent[0]?.id]);
  });

  test('does not run while the server waits for an answer, but for half an hour in all', async () => {
    const answers: ((answer: Json) => void)[] = [];
    const { mux } = given(() => new Promise(settle => answers.push(settle)));
    const call = mux.request('x', {}, { timeoutMs: MINUTE });
    const outcome = expect(call).rejects.toMatchObject({ kind: 'timeout' });
    mux.receive({ id: 'a', method: 'elicitation/create' });
    vi.advanceTimersByTime(20 * MINUTE);
    expect(mux.inFlight).toBe(1);
    answers[0]!({});
    await new Promise(resolve => setImmediate(resolve));
    vi.advanceTimersByTime(MINUTE);
    await outcome;

    const held = mux.request('x', {}, { timeoutMs: MINUTE });
    const givenUp = expect(held).rejects.toMatchObject({ kind: 'timeout' });
    mux.receive({ id: 'b', method: 'elicitation/create' });
    vi.advanceTimersByTime(30 * MINUTE);
    await givenUp;
  });
});

describe('requests of a server', () => {
  const never = () => new Promise<Json>(() => {});

  test('can be taken back, and is not answered then', async () => {
    let isAborted = false;
    const { mux, sent, heard } = given(async (_method, _params, signal) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve));
      isAborted = true;
      return {};
    });
    mux.receive({ id: 'a', method: 'roots/list' });
    mux.receive({ method: 'notifications/cancelled', params: { requestId: 'a' } });
    await new Promise(resolve => setImmediate(resolve));
    expect([isAborted, sent, heard.stray]).toEqual([true, [], 0]);
  });

  test('is refused when it is too much at once', () => {
    const { mux, sent } = given(never);
    for (let id = 0; id < 100; id++) mux.receive({ id, method: 'roots/list' });
    expect(sent).toHaveLength(36);
    expect(sent[0]).toMatchObject({ id: 64, error: { code: -32603 } });
  });

  test('is over when the link is', () => {
    let asked: AbortSignal | null = null;
    const { mux } = given((_method, _params, signal) => {
      asked = signal;
      return never();
    });
    mux.receive({ id: 1, method: 'roots/list' });
    mux.end(new UpstreamFault('transport', 'over'));
    expect(asked).toMatchObject({ aborted: true });
  });
});

test('a subscription is not counted, and the server may end it', async () => {
  const { mux, sent } = given();
  const standing = mux.standing('subscriptions/listen', {}, new AbortController().signal);
  const outcome = expect(standing).rejects.toMatchObject({ kind: 'transport' });
  expect(mux.inFlight).toBe(0);
  mux.receive({ method: 'notifications/cancelled', params: { requestId: sent[0]?.id } });
  await outcome;
  expect(mux.inFlight).toBe(0);
});

test('a server cannot take back what we asked', async () => {
  const { mux, sent, heard } = given();
  const call = mux.request('x', {}, { timeoutMs: 1000 });
  mux.receive({ method: 'notifications/cancelled', params: { requestId: sent[0]?.id } });
  expect(heard.stray).toBe(1);
  mux.receive({ id: sent[0]?.id, result: { well: true } });
  expect(await call).toEqual({ well: true });
});

test('an error without a code or a message is none', async () => {
  const { mux, sent } = given();
  for (const error of [{}, { code: 'x', message: 'y' }, { code: 1 }]) {
    const call = mux.request('x', {}, { timeoutMs: 1000 });
    mux.receive({ id: sent.at(-1)?.id, error });
    await expect(call).rejects.toMatchObject({ kind: 'transport' });
  }
});

test('capabilities of one client are in its own request, beside those of all', () => {
  const { mux, sent } = given();
  mux.envelope = { 'io.modelcontextprotocol/clientCapabilities': {}, who: 'us' };
  void mux.request('x', { a: 1 }, { timeoutMs: 1000, capabilities: { elicitation: {} } }).catch(() => {});
  void mux.request('x', { a: 1 }, { timeoutMs: 1000 }).catch(() => {});
  expect(sent.map(({ params }) => params)).toEqual([
    { a: 1, _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} }, who: 'us' } },
    { a: 1, _meta: { 'io.modelcontextprotocol/clientCapabilities': {}, who: 'us' } },
  ]);
});
