import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ownProcesses } from '../table/socket-holder.ts';
import { isAlive, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from '../turns/supervisor.ts';
import { readRefusedHosts } from './network-record.ts';
import { allowance, isPublic } from './proxy-rules.ts';
import { createRooms, type RoomRequest, type Rooms } from './rooms.ts';
import { createSandboxes } from './sandboxes.ts';

const program = join(import.meta.dirname, '..', '..', '..', 'dist', 'sandbox-proxy.cjs');
const turns = new TurnsFixture();
const tree = turns.path('tree');
const script = join(tree, 'ask.cjs');
const node = realpathSync(process.execPath);
const options = { keepLeftovers: false };
let socketNumber = 0;

/** Sends each text to the given port of the loopback device inside, and prints the answer as one line of JSON. */
const ASK = `
const { connect } = require('node:net');
const proxy = Number(new URL(process.env.HTTPS_PROXY).port);
const ask = (port, text) => new Promise(settle => {
  let said = '';
  const socket = connect(port === 'proxy' ? proxy : Number(port), '127.0.0.1', () => socket.write(text));
  socket.on('data', chunk => { said += chunk; });
  socket.on('error', error => settle(error.code));
  socket.on('close', () => settle(said));
  setTimeout(() => socket.destroy(), 5000).unref();
});
(async () => {
  for (const [port, text] of JSON.parse(process.argv[2])) console.log(JSON.stringify(await ask(port, text)));
})();`;

/** Asks the proxy for a host many times and closes each connection at once; then waits for a file. */
const LEAVE = `
const { connect } = require('node:net');
const { existsSync } = require('node:fs');
const proxy = Number(new URL(process.env.HTTPS_PROXY).port);
const at = process.argv[2];
const asks = ['CONNECT ' + at + ' HTTP/1.1\\r\\n\\r\\n', 'GET http://' + at + '/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'];
const leave = number => new Promise(settle => {
  const socket = connect(proxy, '127.0.0.1', () => socket.write(asks[number % 2], () =>
    number % 4 < 2 ? socket.destroy() : socket.resetAndDestroy()));
  socket.on('error', () => {}).on('close', settle);
});
(async () => {
  await Promise.all(Array.from({ length: 200 }, (_, number) => leave(number)));
  console.log('left');
  const timer = setInterval(() => existsSync('go') && clearInterval(timer), 20);
})();`;

beforeAll(() => {
  mkdirSync(tree);
  writeFileSync(script, ASK);
});
const open: { close(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});
afterAll(() => turns.remove());

/** A server that answers with its name and closes the connection. */
async function server(name: string, onRequest: (port: number) => void = () => {}): Promise<{ port: number }> {
  const made: Server = createServer((request, response) => {
    onRequest(request.socket.remotePort!);
    response.setHeader('connection', 'close').end(`${name} ${request.url}`);
  });
  await new Promise<void>(settle => made.listen(0, '127.0.0.1', settle));
  open.push({ close: () => made.close().closeAllConnections() });
  return { port: (made.address() as AddressInfo).port };
}

/** The hub's side, with a proxy process of its own. */
function hub(port: number, socket = turns.path(`proxy-${socketNumber++}.sock`)) {
  const rooms = createRooms({ socket, program, hubPort: async () => port, warn: () => {} });
  open.push(rooms);
  const sandboxes = createSandboxes({ path: process.env.PATH ?? '', rooms });
  return { socket, rooms, supervisor: createSupervisor({ runsDir: turns.runsDir, sandboxes }) };
}

function inRoom(argv: string | [string, ...string[]], hosts: string[] = []): TurnFixture {
  return {
    ...turns.turn(argv),
    cwd: tree,
    sandbox: {
      home: tree,
      mounts: [
        { path: tree, from: tree, access: 'write' },
        { path: dirname(node), from: dirname(node), access: 'read' },
      ],
      network: 'none',
      hosts,
    },
  };
}

const asking = (requests: [number | 'proxy', string][], hosts?: string[]) =>
  inRoom([node, script, JSON.stringify(requests)], hosts);

async function answers({ supervisor }: ReturnType<typeof hub>, turn: TurnFixture): Promise<string[]> {
  const end = await (await supervisor.start(turn, options)).ended;
  expect({ ...end, err: turns.read(turn, 'stderr') }).toMatchObject({ exitCode: 0, err: '' });
  return turns
    .read(turn, 'stdout')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

/** The process that was started for this socket. */
const proxyPid = ({ socket }: { socket: string }): number =>
  ownProcesses().find(pid => argumentsOf(pid).includes(socket))!;

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // gone meanwhile
  }
}

describe('in a room', () => {
  test('the hub is at its own port, and nothing else of this machine', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const { port } = await server('hub');
    const own = hub(port);
    const other = await server('other');
    expect(await own.supervisor.sandboxProblem('none')).toBeNull();
    const turn = asking([
      [port, get('/mcp')],
      [other.port, get('/')],
    ]);
    const [fromHub, fromOther] = await answers(own, turn);
    expect(fromHub).toContain('hub /mcp');
    expect(fromOther).toBe('ECONNREFUSED');
  });

  test('there is no device but loopback, and no unix socket of this machine', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const own = hub((await server('hub')).port);
    const turn = inRoom('cat /proc/net/dev; grep -c @ /proc/net/unix');
    await (await own.supervisor.start(turn, options)).ended;
    const [, , ...lines] = turns.read(turn, 'stdout').trim().split('\n');
    expect(lines.map(line => line.trim().split(/[:\s]/)[0])).toEqual(['lo', '0']);
  });

  test('a listed host is reached by CONNECT and by plain HTTP, others are refused and recorded once', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const own = hub((await server('hub')).port);
    const listed = await server('listed');
    const at = `127.0.0.1:${listed.port}`;
    const turn = asking(
      [
        ['proxy', `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\n\r\n${get('/tunnel')}`],
        ['proxy', get(`http://${at}/plain?q`)],
        ['proxy', 'CONNECT not.example:443 HTTP/1.1\r\n\r\n'],
        ['proxy', 'CONNECT not.example:443 HTTP/1.1\r\n\r\n'],
        ['proxy', get('http://other.example/')],
        ['proxy', get('/no-proxy-request')],
        ['proxy', 'CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n'],
      ],
      [at, '*.0.0.1:1'],
    );
    const said = await answers(own, turn);
    expect(said[0]).toMatch(/^HTTP\/1.1 200 [\s\S]*listed \/tunnel/);
    expect(said[1]).toMatch(/^HTTP\/1.1 200 [\s\S]*listed \/plain\?q/);
    for (const at of [2, 3, 4, 6]) expect(said[at]).toMatch(/^HTTP\/1.1 403 [\s\S]*does not allow/);
    expect(said[5]).toMatch(/^HTTP\/1.1 400/);
    expect(readRefusedHosts(turns.folder(turn))).toMatchObject([
      { host: 'not.example', port: 443, why: 'not_listed' },
      { host: 'other.example', port: 80, why: 'not_listed' },
      { host: '127.0.0.1', port: 1, why: 'private_address' },
    ]);
  });

  test('odd requests reach no host that is not listed, and the proxy outlives them', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const own = hub((await server('hub')).port);
    const { port } = await server('listed');
    const { port: other } = await server('secret');
    const at = `localhost:${port}`;
    const connect = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${at}\r\n\r\n${get('/')}`;
    const odd = [
      ...[`localhost:${other}`, `127.0.0.1:${other}`, `127.0.0.1:${port}`, `[::1]:${other}`, `::1:${other}`],
      ...[`[::ffff:127.0.0.1]:${other}`, `2130706433:${other}`, `0x7f.1:${other}`, `0:${other}`],
      ...[`${at}@127.0.0.1:${other}`, `${at}/:${other}`, `${at}#:${other}`, `${at}%00.example:${other}`],
      ...[`.localhost:${other}`, `localhost:0${other}`, `localhost:${65536 + other}`, `localhost:-1`, ':443'],
      ...[`http://127.0.0.1:${other}`, '', '/', '*', `${'a'.repeat(5_000)}.localhost:${port}`],
    ].map(connect);
    const plain = [
      ...[`http://localhost:${other}/`, `http://${at}@127.0.0.1:${other}/`, `http://[::1]:${other}/`],
      ...[`http://2130706433:${other}/`, `http://127.1:${other}/`, `https://${at}/`, `file:///etc/passwd`],
    ].map(get);
    const wrongHeader = `GET http://${at}/named HTTP/1.1\r\nHost: 127.0.0.1:${other}\r\nConnection: close\r\n\r\n`;
    const second = `GET http://${at}/one HTTP/1.1\r\nHost: x\r\n\r\n${get(`http://127.0.0.1:${other}/two`)}`;
    const broken = [
      `GET http://${at}/ HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
      `POST http://${at}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET http://${at}/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      '\0\x01\x02\r\n\r\n',
    ];
    const requests = [...odd, ...plain, ...broken, wrongHeader, second, connect(`LOCALHOST:${port}`)];
    const turn = asking(
      requests.map(text => ['proxy', text]),
      [at],
    );
    const said = await answers(own, turn);
    expect(said.filter(text => /secret/.test(text))).toEqual([]);
    expect(said.slice(0, -3).filter(text => /listed/.test(text))).toEqual([]);
    expect(said.at(-3)).toMatch(/^HTTP\/1.1 200 [\s\S]*listed \/named/);
    expect(said.at(-2)).toMatch(/^HTTP\/1.1 200 [\s\S]*listed \/one/);
    expect(said.at(-1)).toMatch(/^HTTP\/1.1 200 [\s\S]*listed \//);
  });

  test('a connection that the agent gives up while its host is looked up is not opened, or closed at once', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const held = new Set<Socket>();
    const silent = createTcpServer(socket => {
      // A socket that is not read does not report its end.
      held.add(
        socket
          .resume()
          .on('error', () => {})
          .once('close', () => held.delete(socket)),
      );
    });
    await new Promise<void>(settle => silent.listen(0, '127.0.0.1', settle));
    open.push({ close: () => silent.close() });
    const { port } = silent.address() as AddressInfo;
    const at = `localhost:${port}`;
    const leave = join(tree, 'leave.cjs');
    writeFileSync(leave, LEAVE);
    const turn = inRoom([node, leave, at], [at]);
    const { ended } = await hub(1).supervisor.start(turn, options);
    await turns.said(turn, 'left');
    await until(() => held.size === 0, 'the end of all connections');
    writeFileSync(join(tree, 'go'), '');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  test('the hub learns which run a connection comes from, for each of two at once', async () => {
    const seen: Promise<string | null | undefined>[] = [];
    let rooms: Rooms | null = null;
    let pid = 0;
    const { port } = await server('hub', remote => seen.push(rooms!.runBehind(pid, remote)));
    const own = hub(port);
    await own.rooms.ready('/usr/bin/bwrap');
    rooms = own.rooms;
    pid = proxyPid(own);
    const both = [asking([[port, get('/')]]), asking([[port, get('/')]])];
    await Promise.all(both.map(turn => answers(own, turn)));
    expect((await Promise.all(seen)).sort()).toEqual(both.map(({ runId }) => runId as string).sort());
    expect(await rooms.runBehind(process.pid, port)).toBeUndefined();
  });
});

describe('the proxy process', () => {
  test('survives its hub: the next one serves the same agent, also at another port', async () => {
    const first = await server('first');
    const old = hub(first.port);
    const waits = `while [ ! -e go ]; do sleep 0.02; done; rm go; exec '${node}' '${script}' '${JSON.stringify([[first.port, get('/')]])}'`;
    const turn = inRoom(waits);
    const live = await old.supervisor.start(turn, options);
    old.rooms.close();
    const second = await server('second');
    const next = hub(second.port, old.socket);
    await next.rooms.attach();
    await next.rooms.ready('/usr/bin/bwrap');
    writeFileSync(join(tree, 'go'), '');
    expect(await live.ended).toMatchObject({ exitCode: 0 });
    expect(turns.read(turn, 'stdout')).toContain('second /');
  });

  test('keeps the room of a take-over while somebody is in it, although its turn has ended', async () => {
    const { port } = await server('hub');
    const own = hub(port);
    const over = asking([[port, get('/')]]);
    await answers(own, over);
    const other = inRoom('while [ ! -e go-other ]; do sleep 0.02; done; rm go-other');
    const live = await own.supervisor.start(other, options);
    const waits = `while [ ! -e go-on ]; do sleep 0.02; done; rm go-on; exec '${node}' '${script}' '${JSON.stringify([[port, get('/')]])}'`;
    const { argv, env } = await own.supervisor.confined({
      ...over,
      sandbox: over.sandbox!,
      command: { ...over.command, argv: ['/bin/sh', '-c', waits] },
    });
    const person = spawn(argv[0], argv.slice(1), { cwd: tree, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    person.stdout.on('data', chunk => {
      said += chunk;
    });
    writeFileSync(join(tree, 'go-other'), '');
    await live.ended;
    // The proxy process has looked for turns that are over since.
    await until(() => !existsSync(join(turns.folder(other), 'room')), 'the end of the other room');
    writeFileSync(join(tree, 'go-on'), '');
    await once(person, 'close');
    expect(said).toContain('hub /');
    const pid = proxyPid(own);
    own.rooms.close();
    await until(() => !isAlive(pid), 'the end of the proxy process');
  });

  test('ends when no hub and no turn is left', async () => {
    const own = hub((await server('hub')).port);
    await answers(own, asking([['proxy', get('/')]]));
    const pid = proxyPid(own);
    own.rooms.close();
    await until(() => !isAlive(pid), 'the end of the proxy process');
    expect(existsSync(own.socket)).toBe(false);
  });

  test('does not wait long for a turn whose hub died before it started the turn', async () => {
    const own = hub((await server('hub')).port);
    const request = { runId: 'run_x', folder: turns.path('not-started'), lasts: 'turn' } as const;
    await own.rooms.open({ ...request, hosts: [] }, '/usr/bin/bwrap');
    const pid = proxyPid(own);
    own.rooms.close();
    await until(() => !isAlive(pid), 'the end of the proxy process');
  });

  test('ends although a wrapper that was killed is never reaped, and the record of another room stays', async () => {
    const own = hub((await server('hub')).port);
    const parent = spawn('/bin/sh', ['-c', 'true & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [zombie] = await once(parent.stdout, 'data');
      const turn = (name: string, file: string, content: string): RoomRequest => {
        const folder = turns.path(name);
        mkdirSync(folder);
        writeFileSync(join(folder, file), content);
        return { runId: 'run_x', folder, lasts: 'turn', hosts: [] };
      };
      const ended = turn('ended', 'exit', '0\n');
      mkdirSync(join(ended.folder, 'room'));
      await own.rooms.open(ended, '/usr/bin/bwrap');
      await own.rooms.open(turn('killed', 'pid', String(zombie)), '/usr/bin/bwrap');
      const pid = proxyPid(own);
      own.rooms.close();
      await until(() => !isAlive(pid), 'the end of the proxy process');
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('leaves the socket of a later one alone when it ends', async () => {
    const socket = turns.path(`proxy-${socketNumber++}.sock`);
    const start = () => spawn(node, [program, socket, '/usr/bin/bwrap'], { stdio: 'ignore' });
    const earlier = start();
    await until(() => existsSync(socket), 'its socket');
    rmSync(socket);
    const later = start();
    await until(() => existsSync(socket), 'the socket of the later one');
    const rooms = createRooms({ socket, program, hubPort: async () => null, warn: () => {} });
    await rooms.attach();
    await until(() => earlier.exitCode !== null, 'the end of the earlier one');
    expect(existsSync(socket)).toBe(true);
    rooms.close();
    await until(() => later.exitCode !== null, 'the end of the later one');
    expect(existsSync(socket)).toBe(false);
  });

  test('killed: its turns are cut off and nothing is let through; the next turn has a new one', async () => {
    const { port } = await server('hub');
    const own = hub(port);
    const ask = `'${node}' '${script}' '${JSON.stringify([[port, get('/')]])}'`;
    const turn = inRoom(
      `${ask}; echo ready; while [ ! -e go2 ]; do sleep 0.02; done; rm go2; ${ask}; ${ask.replace(String(port), '"proxy"')}`,
    );
    const live = await own.supervisor.start(turn, options);
    await turns.said(turn, 'ready');
    const pid = proxyPid(own);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 'its end');
    writeFileSync(join(tree, 'go2'), '');
    await live.ended;
    const lines = turns.read(turn, 'stdout').trim().split('\n');
    expect(lines[0]).toContain('hub /');
    expect(lines.slice(2)).toEqual(['"ECONNREFUSED"', '"ECONNREFUSED"']);
    const [again] = await answers(own, asking([[port, get('/')]]));
    expect(again).toContain('hub /');
  });

  test('that cannot be started is a problem, and no turn is started', {
    tags: ['leaving-the-sandbox'],
  }, async () => {
    const rooms = createRooms({
      socket: turns.path('none.sock'),
      program: turns.path('none.cjs'),
      hubPort: async () => null,
      warn: () => {},
    });
    const sandboxes = createSandboxes({ path: process.env.PATH ?? '', rooms });
    expect(await sandboxes.problem('models')).toMatchObject({
      reason: expect.stringContaining('the proxy process of sandboxes did not start'),
    });
    expect(await sandboxes.problem('full')).toBeNull();
    const supervisor = createSupervisor({ runsDir: turns.runsDir, sandboxes });
    await expect(supervisor.start(inRoom('true'), options)).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
  });
});

describe('hosts', () => {
  const hosts = ['api.example.com', '*.models.example', 'local.example:8443'];
  test.each([
    ['api.example.com', 443, true],
    ['API.example.com.', 80, true],
    ['api.example.com', 8443, false],
    ['xapi.example.com', 443, false],
    ['a.b.models.example', 443, true],
    ['models.example', 443, false],
    ['evilmodels.example', 443, false],
    ['local.example', 8443, true],
    ['local.example', 443, false],
    ['api.example.com.evil.test', 443, false],
  ])('%s:%s is allowed: %s', (host, port, isAllowed) => {
    expect(allowance(hosts, host, port) !== null).toBe(isAllowed);
  });

  test.each([
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '172.20.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
    ],
    ...[
      '::1',
      '::',
      'fd00::1',
      'fe80::1',
      '::ffff:10.0.0.1',
      '64:ff9b::a00:1',
      '2002:a00:1::',
      'ff02::1',
      'x',
    ],
  ])('%s is no public address', address => {
    expect(isPublic(address)).toBe(false);
  });

  test.each(['1.1.1.1', '172.32.0.1', '2606:4700::1111'])('%s is public', address => {
    expect(isPublic(address)).toBe(true);
  });
});
