import { mkdtempSync, readFileSync, rmSync, stat, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Handshake } from '../link/handshake.ts';
import { type RelayOptions, relay } from './relay.ts';
import { FakeHub } from './testing/fake-hub.ts';
import type { RelayError } from './traffic.ts';

interface Answer {
  id: number;
  result?: object;
  error?: { data: { code: string } };
}

let root: string;
let home: string;
let client: ReturnType<typeof connect>;
let hubs: FakeHub[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'squad-relay-'));
  home = join(root, 'home');
  hubs = [];
});
afterEach(async () => {
  client.input.end();
  await client.over;
  for (const hub of hubs) await hub.end();
  rmSync(root, { recursive: true });
});

/** By default starting a hub comes to nothing, as if another were just coming up. */
function connect(script = 'process.exit(75)', handshakeMs?: number, more: Partial<RelayOptions> = {}) {
  const file = join(root, 'hub.cjs');
  writeFileSync(file, script);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const program = { node: process.execPath, script: file };
  const handshake: Handshake = { squad: 1, version: '1.0.0', view: 'mcp', pid: 1, cwd: root, env: {} };
  const errors: RelayError[] = [];
  const over = relay({
    home,
    env: {},
    program,
    handshake,
    ...(handshakeMs !== undefined && { handshakeMs }),
    input,
    output,
    onError: error => errors.push(error),
    ...more,
  });
  let text = '';
  output.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  return {
    input,
    over,
    errors,
    say: (...messages: object[]) =>
      input.write(messages.map(each => `${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`).join('')),
    answers: (): Answer[] =>
      text
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line)),
  };
}

async function hubAt(...at: Parameters<typeof FakeHub.at>): Promise<FakeHub> {
  const hub = await FakeHub.at(...at);
  hubs.push(hub);
  return hub;
}

const until = (condition: () => boolean) => expect.poll(condition, { interval: 5 }).toBe(true);
const CALL = { id: 1, method: 'tools/call' };
const LIST = { id: 2, method: 'tools/list' };

test('a hub that closes without a handshake took nothing: the next hub gets everything, calls included', async () => {
  const closing = await hubAt(home, { answers: 'a closed door' });
  client = connect();
  client.say(CALL, LIST);
  await until(() => closing.connections > 0);
  await closing.end();
  const hub = await hubAt(home);
  await until(() => hub.asked.length === 2);
  expect(hub.asked).toMatchObject([CALL, LIST]);
  expect(client.answers()).toEqual([]);
});

test('input that a hub had not taken when it stopped is given to the next hub', async () => {
  const first = await hubAt(home);
  client = connect();
  client.say(CALL);
  await until(() => first.asked.length === 1);
  await first.end({ bye: 'handover', idle: true });
  const second = await hubAt(home);
  await until(() => second.asked.length === 1);
  second.answer(1);
  await until(() => client.answers().length === 1);
  expect(client.answers()).toMatchObject([{ id: 1, result: {} }]);
});

test('a call that the client wrote after the hub had died is given to the next hub', async () => {
  const first = await hubAt(home);
  client = connect();
  client.say(LIST);
  await until(() => first.asked.length === 1);
  first.answer(2);
  await until(() => client.answers().length === 1);
  // Both happen while the event loop handles other events, so it has not yet looked for the hub's end.
  await new Promise<void>(settle =>
    stat(root, () => {
      void first.end();
      client.say(CALL);
      settle();
    }),
  );
  const second = await hubAt(home);
  await until(() => second.asked.length === 1);
  expect(second.asked).toMatchObject([CALL]);
  expect(client.answers()).toMatchObject([{ id: 2, result: {} }]);
});

test('calls that were running when a hub stopped are answered with HUB_RESTARTED', async () => {
  const first = await hubAt(home);
  client = connect();
  client.say(CALL, LIST);
  await until(() => first.asked.length === 2);
  await first.end({ bye: 'stop', idle: false });
  const second = await hubAt(home);
  await until(() => second.asked.length === 1);
  expect(second.asked).toMatchObject([LIST]);
  expect(client.answers()).toMatchObject([{ id: 1, error: { data: { code: 'HUB_RESTARTED' } } }]);
});

test('a hub that was stopped is looked for again only when there is something to ask', async () => {
  const first = await hubAt(home);
  client = connect('process.exit(1)');
  await until(() => first.connections === 1);
  await first.end({ bye: 'stop', idle: true });
  client.say({ method: 'notifications/roots/list_changed' });
  // By the time one that begins now has found that no hub can be started, the first would have too.
  const later = connect('process.exit(1)');
  await until(() => later.errors.length === 1);
  expect(client.errors).toEqual([]);
  later.input.end();
  await later.over;

  const second = await hubAt(home);
  client.say(LIST);
  await until(() => second.asked.length === 1);
  expect(second.asked).toMatchObject([LIST]);
});

test('a hub that was killed is replaced at once, though nobody asks anything', async () => {
  const first = await hubAt(home);
  client = connect();
  await until(() => first.connections === 1);
  await first.end();
  const second = await hubAt(home);
  await until(() => second.connections === 1);
});

test('a hub that cannot start is an answer to whoever waits; the next question tries again', async () => {
  client = connect(
    'process.stderr.write(JSON.stringify({ code: "DISK_FULL", message: "No space", suggestions: ["Free some."] })); process.exit(1)',
  );
  await until(() => client.errors.length === 1);
  client.say(LIST);
  await until(() => client.answers().length === 1);
  expect(client.answers()).toMatchObject([
    { id: 2, error: { data: { code: 'DISK_FULL', suggestions: ['Free some.'] } } },
  ]);
  expect(client.errors).toHaveLength(2);

  const hub = await hubAt(home);
  client.say({ id: 3, method: 'tools/list' });
  await until(() => hub.asked.length === 1);
  hub.answer(3);
  await until(() => client.answers().length === 2);
});

test('a hub that closes every door is given up, with an answer', async () => {
  await hubAt(home, { answers: 'a closed door' });
  client = connect();
  client.say(LIST);
  await until(() => client.answers().length === 1);
  expect(client.answers()).toMatchObject([{ id: 2, error: { data: { code: 'HUB_UNREACHABLE' } } }]);
});

test('the rest of a line too long to keep is not taken for a line by the next hub', async () => {
  const first = await hubAt(home);
  client = connect();
  await until(() => first.connections === 1);
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let i = 0; i < 35; i++)
    if (!client.input.write(chunk)) await new Promise(settle => client.input.once('drain', settle));
  // Before that the relay keeps the line whole, and the next hub would get all of it.
  await until(() => first.bytes > 33 * 1024 * 1024);
  await first.end();
  const second = await hubAt(home);
  await until(() => second.connections === 1);
  client.input.write('"}\n');
  client.say(LIST);
  await until(() => second.asked.length > 0);
  expect(second.asked).toMatchObject([LIST]);
});

/** Answers each handshake, then exits at once. */
const HANDSHAKE_THEN_EXIT = (count: string, words: string) => `
  require('node:fs').appendFileSync(${JSON.stringify(count)}, 'x');
  require('node:fs').rmSync(process.env.SQUAD_HOME + '/hub.sock', { force: true });
  require('node:net').createServer(socket => socket.once('data', () => {
    socket.write('{"squad":1,"ok":true,"version":"1.0.0","pid":1}\\n', () => {
      process.stderr.write(${JSON.stringify(words)});
      process.exit(1);
    });
  })).listen(process.env.SQUAD_HOME + '/hub.sock');`;

test.each([
  {
    words: JSON.stringify({ code: 'DATABASE_CORRUPT', message: 'It is damaged', suggestions: ['Move it.'] }),
    told: { code: 'DATABASE_CORRUPT', suggestions: ['Move it.'] },
  },
  {
    words: '',
    told: { code: 'HUB_UNREACHABLE', suggestions: [expect.stringContaining('squad hub log')] },
  },
])(
  'a hub that exits right after each handshake is given up after a few starts, with $told.code',
  async ({ words, told }) => {
    const count = join(root, 'count');
    client = connect(HANDSHAKE_THEN_EXIT(count, words));
    client.say(LIST);
    await until(() => client.answers().length === 1);
    expect(client.answers()).toMatchObject([{ id: 2, error: { data: told } }]);
    const launches = readFileSync(count, 'utf8').length;
    expect(launches).toBeLessThanOrEqual(6);

    const hub = await hubAt(home);
    client.say({ id: 3, method: 'tools/list' });
    await until(() => hub.asked.length === 1);
    hub.answer(3);
    await until(() => client.answers().length === 2);
  },
);

test('a hub that does not answer the handshake is not waited for without end: the answer names its pid and the way out', async () => {
  const mute = await hubAt(home, { answers: 'nothing' });
  writeFileSync(join(home, 'hub.json'), JSON.stringify({ pid: process.pid }));
  client = connect(undefined, 100);
  client.say(LIST);
  await until(() => client.answers().length === 1);
  expect(mute.connections).toBeGreaterThan(0);
  expect(client.answers()).toMatchObject([
    {
      error: {
        message: expect.stringContaining(`pid ${process.pid}`),
        data: {
          code: 'HUB_UNREACHABLE',
          suggestions: expect.arrayContaining([expect.stringContaining('squad hub stop --force')]),
        },
      },
    },
  ]);
});

describe('a relay with silent clients', () => {
  test('answers whatever the client asks with the reason, and ends with the client', async () => {
    await hubAt(home, { answers: 'a refusal' });
    client = connect(undefined, undefined, { silentMs: 600_000 });
    for (const id of [1, 2]) {
      client.say({ id, method: 'initialize' });
      await until(() => client.answers().length === id);
    }
    expect(client.answers()).toMatchObject([
      { id: 1, error: { message: expect.stringContaining('No.'), data: { code: 'CONFIG_INVALID' } } },
      { id: 2, error: { data: { code: 'CONFIG_INVALID' } } },
    ]);
    client.input.end();
    expect(await client.over).toMatchObject({ code: 'CONFIG_INVALID', kind: 'usage', message: 'No.' });
    expect(client.errors).not.toEqual([]);
  });

  test.each([
    ['a hub that refuses', undefined, 'CONFIG_INVALID'],
    ['no hub', 'process.exit(1)', 'HUB_UNREACHABLE'],
  ])('ends by itself with %s and nobody who says anything', async (_, script, code) => {
    if (script === undefined) await hubAt(home, { answers: 'a refusal' });
    client = connect(script, undefined, { silentMs: 1 });
    expect(await client.over).toMatchObject({ code });
    expect(client.answers()).toEqual([]);
  });

  test('tells the client, and goes on, once it had started', async () => {
    const first = await hubAt(home);
    client = connect(undefined, undefined, { silentMs: 1 });
    client.say(LIST);
    await until(() => first.asked.length === 1);
    first.answer(2);
    await until(() => client.answers().length === 1);
    await first.end({ bye: 'stop', idle: true });
    const second = await hubAt(home, { answers: 'a refusal' });
    client.say({ id: 3, method: 'tools/list' });
    await until(() => client.answers().length === 2);
    expect(client.answers()[1]).toMatchObject({ id: 3, error: { data: { code: 'CONFIG_INVALID' } } });
    await second.end();
  });
});

test('a relay that is to stop waits until the hub closes, and forwards nothing more', async () => {
  const stop = new AbortController();
  const hub = await hubAt(home, { staysOpen: true });
  client = connect(undefined, undefined, { stop: stop.signal, lastRepliesMs: 600_000 });
  client.say(CALL);
  await until(() => hub.asked.length === 1);
  stop.abort();
  await until(() => hub.halfClosed === 1);
  client.say(LIST);
  hub.answer(1);
  await until(() => client.answers().length === 1);
  let isOver = false;
  void client.over.then(() => {
    isOver = true;
  });
  expect(isOver).toBe(false);
  await hub.end();
  expect(await client.over).toBeNull();
  expect(hub.asked).toMatchObject([CALL]);
});

test('the advice about a lost call is the one that the relay was started with', async () => {
  const first = await hubAt(home);
  client = connect(undefined, undefined, { afterLoss: 'Call it again.' });
  client.say(CALL);
  await until(() => first.asked.length === 1);
  await first.end();
  await until(() => client.answers().length === 1);
  expect(client.answers()).toMatchObject([{ id: 1, error: { data: { suggestions: ['Call it again.'] } } }]);
});

describe('a relay whose calls end with it', () => {
  const TAKEN_BACK = { method: 'notifications/cancelled', params: { requestId: 1 } };

  /** The client has said its last word, and the hub is still there. */
  async function ended(...words: object[]): Promise<FakeHub> {
    const hub = await hubAt(home, { staysOpen: true });
    client = connect(undefined, undefined, { endsCalls: true, lastRepliesMs: 600_000 });
    for (const [i, word] of words.entries()) {
      client.say(word);
      await until(() => hub.asked.length === i + 1);
    }
    if (words.length === 1) hub.answer(1);
    client.input.end();
    await until(() => hub.halfClosed === 1);
    return hub;
  }

  test.each([
    { call: 'was taken back', words: [CALL, TAKEN_BACK] },
    { call: 'was answered', words: [CALL] },
  ])(
    'a hub that is killed while it still ends what a call had that $call: the next one does',
    async ({ words }) => {
      const first = await ended(...words);
      await first.end();
      const second = await hubAt(home, { staysOpen: true });
      await until(() => second.halfClosed === 1);
      await second.end({ bye: 'done', idle: true });
      expect(await client.over).toBeNull();
      expect(second.asked).toEqual([]);
    },
  );

  test('a hub that has nothing left of its calls says so, and none comes after it', async () => {
    const hub = await ended(CALL, TAKEN_BACK);
    await hub.end({ bye: 'done', idle: true });
    expect(await client.over).toBeNull();
    expect(client.errors).toEqual([]);
  });
});
