import { expect, test } from 'vitest';
import { StartLimit } from '../../base/limiter.ts';
import { UpstreamFault } from '../../wire/upstream/link.ts';
import { MemoryServer, refusal } from '../testing/memory-server.ts';
import { settled, VirtualTime } from '../testing/virtual-time.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

function setUp(server = new MemoryServer(), more: Partial<UpstreamOptions> = {}) {
  const time = new VirtualTime();
  const downs: number[] = [];
  const upstream = new Upstream({
    timeoutMs: () => 30_000,
    startMs: () => 30_000,
    cooldownMs: () => 60_000,
    open: (events, signal) =>
      server.connect({
        id: 'x',
        server: { kind: 'http', url: '', headers: {} },
        events,
        signal,
        startTimeoutMs: 1,
        redact: raw => raw,
      }),
    prepare: async () => {},
    onDown: () => downs.push(time.now()),
    onNotification: () => {},
    isWanted: () => true,
    isFinal: ({ kind }) => kind === 'unauthorized',
    redact: raw => raw,
    starts: new StartLimit(4, time),
    clock: time,
    timers: time,
    ...more,
  });
  return { server, time, upstream, downs };
}

const ask = (upstream: Upstream) => upstream.request('tools/call', {}, {});

test('a fault is plain before its secrets are taken out', async () => {
  const { server, upstream } = setUp(new MemoryServer(), { redact: raw => raw.replaceAll('s3cret', '***') });
  server.fault = new UpstreamFault('start', 'The server refused: s3\u001b[1mcr\u200bet');
  await upstream.start();
  expect(upstream.fault).toBe('The server refused: ***');
});

test('however many ask at once, it is started once', { tags: ['B6', 'R16'] }, async () => {
  for (let round = 0; round < 100; round++) {
    const { server, upstream } = setUp();
    await Promise.all(Array.from({ length: 200 }, () => ask(upstream)));
    expect(server.connects).toBe(1);
  }
});

test('a server that dies fails its calls at once, repeats none, and is started again after its cool-down', async () => {
  const { server, upstream, downs, time } = setUp();
  let sideEffects = 0;
  server.answer = () => {
    sideEffects += 1;
    return new Promise(() => {});
  };
  const calls = Array.from({ length: 5 }, () => ask(upstream));
  await settled();
  server.die('The process ended with code 3.');
  for (const call of await Promise.allSettled(calls))
    expect(call).toMatchObject({ status: 'rejected', reason: { kind: 'exit' } });
  expect(downs).toHaveLength(1);
  expect(upstream.health).toBe('cooling');
  await expect(ask(upstream)).rejects.toMatchObject({ health: 'cooling', retryAt: time.now() + 60_000 });
  await time.pass(59_999);
  expect(server.connects).toBe(1);
  await time.pass(1);
  expect(upstream.health).toBe('up');
  expect(server.connects).toBe(2);
  expect(sideEffects).toBe(5);
});

test('a server that has failed a call is retried once per cool-down, also after it was well again', {
  tags: ['B7'],
}, async () => {
  const { server, upstream, time } = setUp();
  const delay = () => upstream.retryAt! - time.now();
  await ask(upstream);
  server.die();
  await settled();
  expect(delay()).toBe(1_000);
  await time.pass(1_000);
  server.answer = async () => {
    throw new UpstreamFault('transport', 'The server answered 503.');
  };
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'transport' });
  expect(delay()).toBe(60_000);
  server.fault = new UpstreamFault('start', 'closed');
  await time.pass(60_000);
  expect([upstream.health, delay()]).toEqual(['cooling', 60_000]);
  server.fault = null;
  await time.pass(60_000 + 300_000);
  expect(upstream.health).toBe('up');
  server.die();
  await settled();
  expect(delay()).toBe(60_000);
});

test('a server that ended the session is not one that failed a call', async () => {
  const { server, upstream, time } = setUp();
  server.answer = async () => {
    throw new UpstreamFault('session', 'The server has ended the session.');
  };
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'session' });
  expect(upstream).toMatchObject({ health: 'retrying', retryAt: time.now() + 1_000 });
});

test('a server that never failed a call is retried after 1, 2, 4, 8 and 16 seconds, then once per cool-down', {
  tags: ['B7', 'R18'],
}, async () => {
  const { server, upstream, time } = setUp();
  server.fault = new UpstreamFault('start', 'closed');
  const begun = time.now();
  const tries: number[] = [];
  const connect = server.connect.bind(server);
  server.connect = request => {
    tries.push((time.now() - begun) / 1_000);
    return connect(request);
  };
  await expect(ask(upstream)).rejects.toMatchObject({ message: 'closed', health: 'retrying' });
  await time.pass(151_000);
  expect(tries).toEqual([0, 1, 3, 7, 15, 31, 91, 151]);
  expect(upstream.health).toBe('cooling');
  const asked = await Promise.allSettled(Array.from({ length: 50 }, () => ask(upstream)));
  expect(asked.every(({ status }) => status === 'rejected')).toBe(true);
  expect(tries).toHaveLength(8);
  server.fault = null;
  await time.pass(60_000);
  expect(upstream.health).toBe('up');
  expect(tries).toHaveLength(9);
});

test.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])(
  'a clock that is set an hour %s brings no try nearer and puts none off',
  { tags: ['R23'] },
  async (_, by) => {
    const { server, upstream, time } = setUp();
    server.fault = new UpstreamFault('start', 'closed');
    await expect(ask(upstream)).rejects.toMatchObject({ health: 'retrying' });
    await time.pass(40_000);
    const { connects } = server;
    time.setBy = by;
    expect(upstream.retryAt! - time.now()).toBe(51_000);
    await time.pass(50_000);
    expect(server.connects).toBe(connects);
    await time.pass(1_000);
    expect(server.connects).toBe(connects + 1);
  },
);

test('only five minutes without a fault make up for the faults before', async () => {
  const { server, upstream, time } = setUp();
  await ask(upstream);
  const delays: number[] = [];
  const die = async () => {
    server.die();
    await settled();
    delays.push(upstream.retryAt! - time.now());
    await time.pass(upstream.retryAt! - time.now());
  };
  await die();
  await time.pass(299_000);
  await die();
  await time.pass(300_000);
  await die();
  expect(delays).toEqual([1_000, 2_000, 1_000]);
});

test('answers and cancelled calls never speak against it', async () => {
  const { server, upstream } = setUp();
  server.answer = async () => {
    throw refusal(-32000, 'no');
  };
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'answer' });
  server.answer = () => new Promise(() => {});
  const gone = new AbortController();
  const call = upstream.request('tools/call', {}, { signal: gone.signal });
  gone.abort();
  await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  expect(upstream).toMatchObject({ health: 'up', failures: 0 });
});

const late = () => new UpstreamFault('timeout', 'no answer within 30 s');

test('a call that ran out of time marks it unhealthy at once, and a probe that is answered makes it well again', async () => {
  const { server, upstream, time } = setUp();
  const pinged = Promise.withResolvers<Record<string, unknown>>();
  const slow = Promise.withResolvers<Record<string, unknown>>();
  const asked: string[] = [];
  server.answer = async ({ method, options }) => {
    asked.push(`${method} ${options.timeoutMs}`);
    if (method === 'ping') return await pinged.promise;
    if (method === 'slow') return await slow.promise;
    throw late();
  };
  const other = upstream.request('slow', {}, {});
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'timeout' });
  const fault = 'no answer within 30 s';
  const lastFault = { message: fault, at: time.now() };
  const now = time.now();
  expect(upstream).toMatchObject({
    ...{ health: 'checking', failures: 1, retryAt: now, fault, lastFault },
  });
  const refused = { name: 'Unavailable', message: fault, health: 'checking', retryAt: now };
  await expect(ask(upstream)).rejects.toMatchObject(refused);
  await expect(upstream.up(new AbortController().signal)).rejects.toMatchObject(refused);
  expect(asked).toEqual(['slow 30000', 'tools/call 30000', 'ping 5000']);
  await time.pass(1_000);
  pinged.resolve({});
  await settled();
  expect(upstream).toMatchObject({
    ...{ health: 'up', since: now + 1_000, failures: 1, retryAt: null, fault: null, lastFault },
  });
  slow.resolve({ done: true });
  expect(await other).toEqual({ done: true });
  expect(server.connects).toBe(1);
});

test('a server that answers no probe is ended with all its calls, like every failing server', {
  tags: ['B7'],
}, async () => {
  const { server, upstream, time } = setUp();
  server.answer = async ({ method }) => {
    if (method === 'slow') return new Promise(() => {});
    throw late();
  };
  const other = upstream.request('slow', {}, {});
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'timeout' });
  await expect(other).rejects.toBeInstanceOf(UpstreamFault);
  expect(upstream).toMatchObject({
    ...{ health: 'cooling', failures: 1, retryAt: time.now() + 60_000, fault: 'no answer within 30 s' },
  });
  expect(server.live.size).toBe(0);
});

test('a server that is late three times in a row is left alone for a while, though it answers probes; running calls finish', async () => {
  const { server, upstream, time } = setUp();
  const slow = Promise.withResolvers<Record<string, unknown>>();
  server.answer = async ({ method }) => {
    if (method === 'ping' || method === 'quick') return {};
    if (method === 'slow') return await slow.promise;
    throw method === 'wrong' ? refusal(-32000, 'no') : late();
  };
  const beLate = async () => {
    await expect(ask(upstream)).rejects.toMatchObject({ kind: 'timeout' });
    await settled();
    return upstream.health;
  };
  const other = upstream.request('slow', {}, {});
  expect([await beLate(), await beLate()]).toEqual(['up', 'up']);
  await upstream.request('quick', {}, {});
  expect([await beLate(), await beLate()]).toEqual(['up', 'up']);
  await expect(upstream.request('wrong', {}, {})).rejects.toMatchObject({ kind: 'answer' });
  expect([await beLate(), await beLate(), await beLate()]).toEqual(['up', 'up', 'cooling']);
  expect(upstream).toMatchObject({ failures: 7, retryAt: time.now() + 60_000 });
  expect(server.live.size).toBe(1);
  slow.resolve({ done: true });
  expect(await other).toEqual({ done: true });
  await settled();
  expect(server.live.size).toBe(0);
  await time.pass(60_000);
  expect(upstream.health).toBe('up');
  expect(server.connects).toBe(2);
});

test('calls that were made together and are late together are late once', async () => {
  const { server, upstream } = setUp();
  const over = Array.from({ length: 5 }, () => Promise.withResolvers<Record<string, unknown>>());
  let asked = 0;
  server.answer = ({ method }) => (method === 'ping' ? {} : over[asked++]!.promise);
  const calls = over.map(() => ask(upstream).catch(error => error.kind));
  await settled();
  for (const { reject } of over) {
    reject(late());
    await settled();
    expect(upstream.health).toBe('up');
  }
  expect(await Promise.all(calls)).toEqual(over.map(() => 'timeout'));
});

test('late calls during a check are neither counted nor probed again', async () => {
  const { server, upstream } = setUp();
  let probes = 0;
  const over = Promise.withResolvers<Record<string, unknown>>();
  const pinged = Promise.withResolvers<Record<string, unknown>>();
  server.answer = ({ method }) => {
    if (method !== 'ping') return over.promise;
    probes += 1;
    return pinged.promise;
  };
  const calls = Array.from({ length: 5 }, () => ask(upstream).catch(error => error.kind));
  await settled();
  over.reject(late());
  expect(await Promise.all(calls)).toEqual(calls.map(() => 'timeout'));
  expect(upstream).toMatchObject({ health: 'checking', failures: 1 });
  pinged.resolve({});
  await settled();
  expect(upstream).toMatchObject({ health: 'up', failures: 1 });
  expect(probes).toBe(1);
});

test('a server that refuses the login is not asked again until something has changed', {
  tags: ['R25'],
}, async () => {
  const { server, upstream, time } = setUp();
  server.fault = new UpstreamFault('unauthorized', 'the token is not good');
  await expect(ask(upstream)).rejects.toMatchObject({ health: 'unusable', retryAt: null });
  await time.pass(3_600_000);
  expect(server.connects).toBe(1);
  server.fault = null;
  upstream.reconsider();
  await ask(upstream);
  expect(upstream.health).toBe('up');
});

test('a server that asks to be left alone is, and one nobody wants is not tried again', async () => {
  const { server, upstream, time } = setUp();
  server.fault = new UpstreamFault('transport', 'too many requests', { retryAfterMs: 20_000 });
  await expect(ask(upstream)).rejects.toMatchObject({ retryAt: time.now() + 20_000 });
  const alone = setUp(new MemoryServer(), { isWanted: () => false });
  await ask(alone.upstream);
  alone.server.die();
  await alone.time.pass(100_000);
  expect(alone.server.connects).toBe(1);
  expect(alone.upstream.health).toBe('idle');
  await ask(alone.upstream);
  expect(alone.server.connects).toBe(2);
});

test('a start that takes too long is given up, and its waiting callers with it', async () => {
  const { server, upstream, time } = setUp();
  server.gate = new Promise(() => {});
  const connect = server.connect.bind(server);
  server.connect = request =>
    Promise.race([
      connect(request),
      new Promise<never>((_, reject) =>
        request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
      ),
    ]);
  const call = ask(upstream).catch(error => error);
  await time.pass(30_000);
  expect(await call).toMatchObject({ message: expect.stringContaining('30 s') });
  expect(upstream.health).toBe('retrying');
});

test('calls under way finish on a server that is no longer wanted, then it ends', async () => {
  const { server, upstream } = setUp();
  const answered = Promise.withResolvers<Record<string, unknown>>();
  server.answer = () => answered.promise;
  const call = ask(upstream);
  await settled();
  const gone = upstream.retire();
  await settled();
  expect(server.live.size).toBe(1);
  answered.resolve({ done: true });
  expect(await call).toEqual({ done: true });
  await gone;
  expect(server.live.size).toBe(0);
  expect(upstream.failures).toBe(0);
});

test('ending it in the middle of a start leaves nothing behind', async () => {
  const { server, upstream } = setUp();
  const opened = Promise.withResolvers<void>();
  server.gate = opened.promise;
  const call = ask(upstream).catch(error => error);
  await settled();
  const closed = upstream.close();
  opened.resolve();
  await closed;
  expect(await call).toMatchObject({ name: 'Unavailable' });
  expect(server.live.size).toBe(0);
  expect(upstream.health).toBe('idle');
});

test('a server that was ended is not started again by a stale reference', async () => {
  const { server, upstream } = setUp();
  await ask(upstream);
  await upstream.retire();
  await expect(ask(upstream)).rejects.toMatchObject({ name: 'Unavailable' });
  await upstream.start();
  expect(server.connects).toBe(1);
  expect(upstream.health).toBe('idle');
});

test('a request whose connection broke leaves the others under way alone, and no new one is let in', async () => {
  const { server, upstream } = setUp();
  const answered = Promise.withResolvers<Record<string, unknown>>();
  server.answer = async ({ method }) => {
    if (method === 'slow') return await answered.promise;
    throw new UpstreamFault('transport', 'The server answered 503.');
  };
  const slow = upstream.request('slow', {}, {});
  await expect(ask(upstream)).rejects.toMatchObject({ kind: 'transport' });
  expect(upstream.health).toBe('cooling');
  await expect(ask(upstream)).rejects.toMatchObject({
    name: 'Unavailable',
    message: 'The server answered 503.',
  });
  answered.resolve({ done: true });
  expect(await slow).toEqual({ done: true });
});

test('a server that never gets ready is reported with its last stderr line, whether it took too long or ended', async () => {
  const words = { stderrTail: () => 'no DATABASE_URL' };
  const never = setUp();
  const open = async (server: MemoryServer) =>
    Object.assign(
      await server.connect({
        ...{ id: 'x', server: { kind: 'http', url: '', headers: {} }, startTimeoutMs: 1 },
        events: { onNotification: () => {}, onStray: () => {} },
        redact: raw => raw,
      }),
      words,
    );
  const slow = setUp(never.server, { open: () => open(never.server), prepare: () => new Promise(() => {}) });
  const asked = ask(slow.upstream).catch(error => error);
  await slow.time.pass(30_000);
  await asked;
  expect(slow.upstream.fault).toBe('it was not ready within 30 s. It last wrote: no DATABASE_URL');
  const dying = setUp(undefined, {
    open: () => open(dying.server),
    prepare: async () => {
      throw new UpstreamFault('exit', 'It ended.');
    },
  });
  await expect(ask(dying.upstream)).rejects.toThrow('It ended. It last wrote: no DATABASE_URL');
});
