import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Handshake } from '../link/handshake.ts';
import { SquadError } from '../schema/error.ts';
import { type Connection, HubServer } from './server.ts';

let root: string;
let path: string;
let connections: Connection[];
let taken: string[];
let newer: string[];
let clients: number[];
let server: HubServer;
let makesWay: boolean;
let ready: Promise<string[]>;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'squad-server-'));
  path = join(root, 'hub.sock');
  [connections, taken, newer, clients] = [[], [], [], []];
  const counts = clients;
  makesWay = false;
  ready = Promise.resolve([]);
  server = new HubServer({
    socketPath: path,
    version: '1.0.0',
    views: { mcp: view, control: view, subagent: view },
    ready: async () => {
      const warnings = await ready;
      return warnings.length > 0 ? { warnings } : {};
    },
    onClients: count => void counts.push(count),
    onNewer: handshake => {
      newer.push(handshake.version);
      if (makesWay) setImmediate(() => void server.close('handover'));
    },
    warn: (_message, cause) => {
      throw cause;
    },
  });
  await server.listen();
});
afterEach(async () => {
  await server.close('stop');
  rmSync(root, { recursive: true });
});

function view(connection: Connection): Promise<void> {
  connections.push(connection);
  onLine(connection.socket, line => taken.push(line));
  return new Promise(settle => connection.socket.once('close', () => settle()));
}

const handshake = (words: Partial<Handshake> = {}) =>
  JSON.stringify({
    squad: 1,
    version: '1.0.0',
    view: 'mcp',
    pid: 1,
    cwd: '/',
    env: {},
    ...words,
  });

function client(text: string): {
  socket: Socket;
  lines: Record<string, unknown>[];
  closed: Promise<unknown>;
} {
  const socket = createConnection(path);
  const lines: Record<string, unknown>[] = [];
  onLine(socket, line => lines.push(JSON.parse(line)));
  const closed = new Promise(settle => socket.once('close', settle));
  socket.write(text);
  return { socket, lines, closed };
}

/** Either end may break off: that is what these tests are about. */
function onLine(socket: Socket, act: (line: string) => void): void {
  const lines = createInterface({ input: socket }).on('line', act);
  for (const end of [socket, lines]) end.on('error', () => {});
}

const until = (condition: () => boolean) => expect.poll(condition, { interval: 5 }).toBe(true);

test('the socket is for its owner only, and takes the place of one a dead hub left', async () => {
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await server.close('stop');
  writeFileSync(path, 'left over');
  server = new HubServer({
    socketPath: path,
    version: '1.0.0',
    views: { mcp: view, control: view, subagent: view },
    onClients: () => {},
    onNewer: () => {},
    warn: () => {},
  });
  await server.listen();
  const { socket, lines } = client(`${handshake()}\n`);
  await until(() => lines.length === 1);
  socket.destroy();
});

test('bytes that follow the handshake reach the view, even if they came in the same chunk', async () => {
  const { lines, socket } = client(`${handshake({ workspace: '/w' })}\nfirst\nsec`);
  await until(() => taken.length === 1);
  socket.write('ond\n');
  await until(() => taken.length === 2);
  expect(taken).toEqual(['first', 'second']);
  expect(lines).toEqual([{ squad: 1, ok: true, version: '1.0.0', pid: process.pid }]);
  expect(connections[0]!.handshake).toMatchObject({ workspace: '/w', view: 'mcp' });
  socket.destroy();
});

test.each([
  ['no JSON', 'GET / HTTP/1.1\n'],
  ['no handshake', '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'],
  ['an unknown view', `${handshake({ view: 'page' as 'mcp' })}\n`],
  ['endless', 'x'.repeat(5 * 1024 * 1024)],
])('a first line that is %s is refused with a word, and the connection closed', async (_what, text) => {
  const { lines, closed } = client(text);
  await closed;
  expect(lines).toMatchObject([
    { squad: 1, ok: false, error: { code: 'INVALID_INPUT', message: expect.stringContaining('squad mcp') } },
  ]);
  expect(connections).toEqual([]);
});

test('a client that leaves without a handshake is no error', async () => {
  const { socket, closed } = client('');
  socket.end();
  await closed;
  await until(() => clients.at(-1) === 0);
  expect(clients).toEqual([1, 0]);
});

test('only a later version is asked to make way for', async () => {
  for (const version of ['0.9.0', '1.0.0', '1.0.1']) {
    const { lines, socket } = client(`${handshake({ version })}\n`);
    await until(() => lines.length === 1);
    socket.destroy();
  }
  await until(() => connections.length === 3);
  expect(newer).toEqual(['1.0.1']);
});

test('a hub that makes way at once takes nothing from the newer client, and notifies it', async () => {
  makesWay = true;
  const { lines, closed } = client(`${handshake({ version: '2.0.0' })}\nfirst question\n`);
  await closed;
  expect(lines).toMatchObject([{ ok: true }, { bye: 'handover', idle: true }]);
  expect([taken, connections]).toEqual([[], []]);
});

test('at the end every client hears whether something of its is unanswered, and nothing more is taken from it', async () => {
  const [idle, busy] = [client(`${handshake()}\n`), client(`${handshake({ pid: 2 })}\n`)];
  await until(() => connections.length === 2);
  connections.find(({ handshake: { pid } }) => pid === 2)!.calls = 1;
  idle.socket.write('too late\n');
  const closing = server.close('handover');
  await Promise.all([idle.closed, busy.closed, closing]);
  expect(idle.lines[1]).toEqual({ squad: 1, bye: 'handover', idle: true });
  expect(busy.lines[1]).toEqual({ squad: 1, bye: 'handover', idle: false });
  expect(taken).toEqual([]);
  expect(connections.every(({ isOver }) => isOver)).toBe(true);
});

test('a client that reads nothing does not keep the hub from ending, and nothing is taken from it meanwhile', {
  tags: ['R20', 'streams-and-sessions-that-are-never-closed'],
}, async () => {
  const { socket } = client(`${handshake()}\n`);
  await until(() => connections.length === 1);
  socket.pause();
  connections[0]!.socket.write('x'.repeat(10 * 1024 * 1024));
  const closing = server.close('stop');
  socket.write('too late\n');
  await closing;
  expect(connections[0]!.socket.destroyed).toBe(true);
  expect(taken).toEqual([]);
  socket.destroy();
});

test('no handshake is answered, and nothing is taken, before the hub is ready; then the answer has its warnings', async () => {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  ready = promise;
  const early = client(`${handshake()}\nquestion\n`);
  await until(() => clients.includes(1));
  expect([early.lines, taken]).toEqual([[], []]);
  resolve(['Mind the gap.']);
  await until(() => taken.includes('question') && early.lines.length > 0);
  expect(early.lines).toMatchObject([{ ok: true, warnings: ['Mind the gap.'] }]);
  early.socket.destroy();
});

test('if it never gets ready, a waiting client gets the reason', async () => {
  const { promise, reject } = Promise.withResolvers<string[]>();
  promise.catch(() => {}); // it may not have been asked for yet
  ready = promise;
  const early = client(`${handshake()}\nquestion\n`);
  await until(() => clients.includes(1));
  reject(new SquadError('DATABASE_CORRUPT', 'It is damaged', { suggestions: ['Repair it.'] }));
  await early.closed;
  expect(early.lines).toEqual([
    {
      squad: 1,
      ok: false,
      error: {
        code: 'DATABASE_CORRUPT',
        kind: 'database',
        message: 'It is damaged',
        suggestions: ['Repair it.'],
      },
    },
  ]);
  expect(taken).toEqual([]);
});

test('its last words reach a client that is busy, and goes on to write before it reads', async () => {
  ready = Promise.reject(new SquadError('INVALID_INPUT', 'There is no such thing'));
  ready.catch(() => {});
  const client = spawn(process.execPath, ['-e', BUSY_CLIENT, path, handshake()]);
  expect(await text(client.stdout)).toMatch(/There is no such thing/);
});

/** Says handshake, does something else until it has certainly been refused, says more, and only then listens. */
const BUSY_CLIENT = `
  const [path, handshake] = process.argv.slice(1);
  const socket = require('net').connect(path);
  const busy = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  socket.on('error', () => {}).pipe(process.stdout);
  socket.write(handshake + '\\n', () => { busy(); socket.write('more\\n'); });
`;
