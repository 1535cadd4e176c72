import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';
import { LIMITS, realSandbox, run, TakenOver, tool } from './testing/sandboxes.ts';

describe('the environment of a program', () => {
  test.each([
    ...['process', 'require', 'module', 'exports', '__dirname', '__filename', 'global', 'fetch', 'Buffer'],
    ...['WebAssembly', 'Worker', 'WebSocket', 'EventSource', 'navigator', 'performance', 'crypto', 'Deno'],
    ...['XMLHttpRequest', 'SharedWorker', 'BroadcastChannel', 'MessageChannel', 'structuredClone', 'URL'],
  ])('has no %s', async name => {
    expect(await run(`return [typeof ${name}, '${name}' in globalThis]`)).toMatchObject({
      ok: true,
      returned: '["undefined",false]',
    });
  });

  test('has only the language, the tools, the console and timers', async () => {
    const { returned } = await run(`const names = Object.getOwnPropertyNames(globalThis);
return names.filter(name => !/^[A-Z]/.test(name)).sort()`);
    expect(JSON.parse(returned!)).toEqual(
      [
        ...['clearImmediate', 'clearInterval', 'clearTimeout', 'console', 'decodeURI', 'decodeURIComponent'],
        ...['encodeURI', 'encodeURIComponent', 'escape', 'eval', 'globalThis', 'isFinite', 'isNaN'],
        ...['parseFloat', 'parseInt', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout', 'tools'],
        ...['undefined', 'unescape'],
      ].sort(),
    );
  });

  test.each([
    ['eval', 'eval("1")'],
    ['Function', 'Function("return process")()'],
    ['the constructor of a function', '(() => {}).constructor("return process")()'],
    ['the constructor of an async function', '(async () => {}).constructor("return process")()'],
    ['the constructor of a generator', '(function* () {}).constructor("return process")()'],
    ['the constructor of a tool', 'tools.given.constructor("return process")()'],
    ['the constructor of the console', 'console.log.constructor("return process")()'],
    ['the constructor of a timer', 'setTimeout.constructor("return process")()'],
    [
      'the constructor of an error of Node’s',
      'await import("x").catch(error => error.constructor.constructor("return process")())',
    ],
    ['the constructor of a promise of Node’s', 'import("x").constructor.constructor("return process")()'],
  ])('%s cannot generate code', async (_, program) => {
    const result = await run(`return String(${program})`, { tools: [tool('given', async () => 1)] });
    expect(result).toMatchObject({ ok: false, returned: null });
    expect(result.error).toMatch(/^EvalError: Code generation from strings disallowed|Unhandled promise/);
  });

  test('errors, promises, stack frames and stack overflows do not lead to anything of Node', async () => {
    const program = `const starts = [globalThis, tools, console, setTimeout, ToolError];
const imported = import('node:fs');
starts.push(imported);
try { await imported } catch (error) { starts.push(error) }
try { await tools.bad() } catch (error) { starts.push(error) }
Error.prepareStackTrace = (error, frames) => { for (const frame of frames) starts.push(frame, frame.getThis(), frame.getFunction()); return '' };
new Error().stack;
try { null.x } catch (error) { error.stack }
setTimeout(() => { new Error().stack }, 1);
await new Promise(wake => setTimeout(wake, 5));
await tools.given(); new Error().stack;
const deeper = () => { try { deeper() } catch (error) { starts.push(error) } try { console.log() } catch (error) { starts.push(error) } };
deeper();
let seen = new Set(), waiting = starts.slice(-20000), found = [];
for (let each = waiting.pop(); waiting.length > 0 && seen.size < 20000; each = waiting.pop()) {
  if ((typeof each !== 'object' && typeof each !== 'function') || each === null || seen.has(each)) continue;
  seen.add(each);
  let keys = [];
  try { keys = Reflect.ownKeys(each); waiting.push(Object.getPrototypeOf(each)) } catch {}
  for (const key of keys) {
    if (['pid', 'binding', 'reallyExit', 'getBuiltinModule', 'writeSync', 'mainModule', 'require', 'send'].includes(key)) found.push(String(key));
    try { const of = Object.getOwnPropertyDescriptor(each, key); waiting.push(of.value, of.get, of.set) } catch {}
  }
}
return [found, seen.size > 500]`;
    const tools = [
      tool('given', async () => 1),
      tool('bad', async () => {
        throw new Error('x');
      }),
    ];
    expect(await run(program, { tools })).toMatchObject({ ok: true, error: null, returned: '[[],true]' });
  });

  test('objects of Node’s realm cannot be changed', async () => {
    const program = `const error = await import('x').catch(error => error);
let top = error;
while (Object.getPrototypeOf(top) !== null) top = Object.getPrototypeOf(top);
if (top === Object.prototype) return 'the same realm';
try { 'use strict'; Object.defineProperty(top, 'polluted', { value: 1 }) } catch (error) { return error.name }
return 'changed'`;
    expect((await run(program)).returned).toBe('"TypeError"');
  });

  test.each([
    ['array iterators', 'Object.getPrototypeOf(outer.Reflect_ownKeys({})[Symbol.iterator]())'],
    ['a function of an object', 'outer.Object.assign'],
  ])('%s of Node’s realm cannot be changed', async (_, found) => {
    const program = `const error = await import('x').catch(error => error);
let top = error;
while (Object.getPrototypeOf(top) !== null) top = Object.getPrototypeOf(top);
const outer = { Object: top.constructor, Reflect_ownKeys: top.constructor.getOwnPropertyNames };
const target = ${found};
if (Object.getPrototypeOf(outer.Reflect_ownKeys) === Function.prototype) return 'the same realm';
return Reflect.defineProperty(target, 'next', { value: 1 }) || Reflect.defineProperty(target, 'call', { value: 1 })`;
    expect(await run(program)).toMatchObject({ error: null, returned: 'false' });
  });

  test('stack overflow errors belong to the program’s realm', async () => {
    const program = `const foreign = [];
const keep = error => { if (!(error instanceof Error)) foreign.push(error) };
const deeper = act => { try { deeper(act) } catch (error) { keep(error) } try { act() } catch (error) { keep(error) } };
for (const act of [() => console.log(), () => clearTimeout(setTimeout(() => {}, 1)), () => void tools.given().catch(() => {})]) deeper(act);
return foreign.length`;
    expect(await run(program, { tools: [tool('given', async () => 1)] })).toMatchObject({ returned: '0' });
  });

  test.each([
    ['JSON', 'JSON.stringify = JSON.parse = () => { throw 1 }'],
    ['objects', 'Object.prototype.toJSON = () => ({ type: "call", id: 1, tool: "secret", args: {} })'],
    ['their types', 'Object.defineProperty(Object.prototype, "type", { get: () => "done", set() {} })'],
    [
      'lists',
      'Array.prototype.map = Array.prototype.join = Array.prototype[Symbol.iterator] = () => { throw 1 }',
    ],
    ['promises', 'Promise.prototype.then = Promise.resolve = () => {}; globalThis.Promise = null'],
    ['maps', 'for (const name of Object.getOwnPropertyNames(Map.prototype)) Map.prototype[name] = () => {}'],
    ['functions', 'Function.prototype.call = Function.prototype.apply = () => {}'],
    [
      'everything global',
      'for (const name of Object.getOwnPropertyNames(globalThis)) try { globalThis[name] = null } catch {}',
    ],
  ])('a program that changes %s breaks only itself', async (_, change) => {
    const called: unknown[] = [];
    const tools = [tool('given', async args => called.push(args))];
    const result = await run(`${change}; await tools.given({ a: 1 }); console.log(1); return 2`, {
      tools,
      limits: { timeoutMs: 5000 },
    });
    for (const args of called) expect(args).toBeTypeOf('object');
    expect(called.length).toBeLessThanOrEqual(1);
    expect(result.error ?? '').not.toMatch(/was ended/);
    expect(await run('await tools.given({ a: 1 }); return 2', { tools })).toMatchObject({
      ok: true,
      returned: '2',
    });
  });
});

describe.each([
  ['with Node’s permissions', true],
  ['with nothing but the process boundary', false],
])('a guest that is taken over and has all of Node, %s', (_, permissions) => {
  const guests = new TakenOver();
  const folder = mkdtempSync(join(tmpdir(), 'squad-outside-'));
  const secret = join(folder, 'secret');
  const socket = join(folder, 'socket');
  const server = createServer(connection => {
    connections++;
    connection.destroy();
  });
  const local = createServer(connection => {
    connections++;
    connection.destroy();
  });
  const datagrams = createSocket('udp4', () => connections++);
  let connections = 0;
  let port = 0;

  beforeAll(async () => {
    writeFileSync(secret, 'secret');
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await once(local.listen(socket), 'listening');
    port = (server.address() as { port: number }).port;
    await new Promise<void>(bound => datagrams.bind(port, '127.0.0.1', bound));
  });
  afterAll(() => {
    guests.remove();
    server.close();
    local.close();
    datagrams.close();
    rmSync(folder, { recursive: true });
  });
  const finds = <T>(body: string) => guests.finds<T>(body, { permissions });
  const attempts = (acts: string[]) =>
    finds<({ failed: string } | { got: string })[]>(
      `done(await Promise.all([${acts.map(act => `attempt(async () => ${act})`).join(', ')}]))`,
    );

  test('cannot read files of the machine', { tags: ['E5'] }, async () => {
    const files = [
      ...[
        '/etc/passwd',
        '/etc/hostname',
        '/proc/1/environ',
        '/proc/self/environ',
        '/proc/self/maps',
        '/proc/self/fd',
      ],
      ...[
        '/proc/self/root',
        '/proc/version',
        '/sys/kernel',
        '/dev/null',
        '/dev/mem',
        '/tmp',
        '/var',
        '/usr/bin/env',
      ],
      ...[homedir(), secret, folder, process.cwd(), join(process.cwd(), 'package.json')],
    ];
    const read = `f => { try { return fs.readFileSync(f) } catch (error) { if (error.code !== 'EISDIR') throw error; return fs.readdirSync(f) } }`;
    const found = await finds<
      { failed?: string; got?: string }[]
    >(`const fs = require('node:fs'); const read = ${read};
done(await Promise.all(${JSON.stringify(files)}.map(file => attempt(() => read(file)))))`);
    // Of folders only those on the way to what is mounted are there, with nothing else in them.
    const args = (await realSandbox()).command(LIMITS.memoryMb);
    const mounted = args.flatMap((arg, at) => (arg === '--ro-bind' ? [args[at + 2]!] : []));
    for (const [at, { got }] of found.entries()) {
      const inside = mounted.flatMap(file =>
        file.startsWith(`${files[at]}/`) ? file.slice(files[at]!.length + 1).split('/')[0]! : [],
      );
      if (got !== undefined) expect([...new Set(inside)].sort().join()).toBe(got.split(',').sort().join());
    }
    expect(found.map(each => each.failed)).toContain(permissions ? 'ERR_ACCESS_DENIED' : 'ENOENT');
  });

  test('cannot write', async () => {
    const found = await attempts([
      ...['/written', '/guest.cjs', '/tmp/written', '/dev/shm/written', secret].map(
        file => `require('node:fs').writeFileSync(${JSON.stringify(file)}, 'x')`,
      ),
      `require('node:fs').mkdirSync('/folder')`,
      `require('node:fs').symlinkSync('/etc', '/link')`,
    ]);
    for (const each of found) expect(each).toHaveProperty('failed');
  });

  test('has no environment except its folder, no privileges, and runs as nobody', async () => {
    const found = await finds<{ env: object; uid: number; gid: number }>(
      'done({ env: process.env, uid: process.getuid(), gid: process.getgid() })',
    );
    expect(found).toEqual({ env: { PWD: '/' }, uid: 65534, gid: 65534 });
    const names = await finds<string[]>('done([require("node:os").hostname(), process.execPath])');
    expect(names).toEqual(['sandbox', '/node']);
    const rights = await attempts(['process.setuid(0)', 'process.setgid(0)', 'process.chdir("/proc")']);
    for (const each of rights) expect(each).toHaveProperty('failed');
  });

  test('cannot reach the network', { tags: ['E5'] }, async () => {
    const connect = (to: string) =>
      `new Promise((resolve, reject) => require('node:net').connect(${to}).on('connect', resolve).on('error', reject))`;
    const found = await attempts([
      `fetch('http://127.0.0.1:${port}/')`,
      connect(`${port}, '127.0.0.1'`),
      connect(JSON.stringify(socket)),
      `require('node:dns').promises.lookup('example.com')`,
      `require('node:dns').promises.resolve4('example.com')`,
    ]);
    for (const each of found) expect(each).toHaveProperty('failed');
    await attempts([
      `new Promise((resolve, reject) => require('node:dgram').createSocket('udp4').send('x', ${port}, '127.0.0.1', error => error ? reject(error) : resolve()))`,
    ]);
    expect(connections).toBe(0);
  });

  test('has only its own network namespace, without a route out of it', async () => {
    const [found] = await attempts([`JSON.stringify(Object.keys(require('node:os').networkInterfaces()))`]);
    expect(['["lo"]', '[]']).toContain((found as { got: string }).got);
  });

  test('cannot signal other processes', async () => {
    const found = await attempts([
      `process.kill(${process.pid}, 0)`,
      `process.kill(${process.ppid}, 'SIGTERM')`,
    ]);
    for (const each of found) expect(each).toEqual({ failed: 'ESRCH' });
    expect(await finds('done([process.pid, process.ppid])')).toEqual([1, 0]);
  });

  test('cannot start programs of the machine', async () => {
    const found = await attempts(
      ['/bin/sh', 'sh', '/usr/bin/env', 'bwrap', '/proc/self/exe'].map(
        file =>
          `new Promise((resolve, reject) => require('node:child_process').spawn(${JSON.stringify(file)}).on('spawn', resolve).on('error', reject))`,
      ),
    );
    for (const each of found) expect(each).toEqual({ failed: permissions ? 'ERR_ACCESS_DENIED' : 'ENOENT' });
  });
});

describe('a guest that is taken over', () => {
  const guests = new TakenOver();
  afterAll(() => guests.remove());

  test('Node’s permissions deny child processes, workers, addons, bindings and the debugger', async () => {
    const found = await guests.finds<object[]>(`done(await Promise.all([
  () => require('node:child_process').spawnSync(process.execPath, ['-v']),
  () => require('node:child_process').fork('/guest.cjs'),
  () => new (require('node:worker_threads').Worker)('1', { eval: true }),
  () => process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'),
  () => process.binding('fs'),
  () => require('node:inspector').open(0),
  () => new (require('node:wasi').WASI)({ version: 'preview1' }),
  () => require('/x.node'),
].map(attempt)))`);
    for (const each of found) expect(each).toHaveProperty('failed');
  });

  test('is killed with all processes it started', async () => {
    const before = descendantsOf(process.pid);
    const sandbox = await guests.sandbox(
      `if (process.argv[2] === 'child') return process.stdin.resume();
const { spawn } = require('node:child_process');
const child = () => spawn(process.execPath, ['/guest.cjs', 'child'], { detached: true });
await Promise.all(Array.from({ length: 4 }, () => new Promise(resolve => child().on('spawn', resolve))));
send({ type: 'call', id: 1, tool: 'started', args: {} });
globalThis.kept = Buffer.alloc(280 * 2 ** 20, 1);`,
      { permissions: false },
    );
    let below = 0;
    const started = tool('started', async () => {
      below = descendantsOf(process.pid).filter(pid => !before.includes(pid)).length;
    });
    const result = await run('', { sandbox, tools: [started] });
    expect(result).toMatchObject({ ok: false, error: expect.stringMatching(/ MB of memory/) });
    expect(below).toBeGreaterThanOrEqual(6);
    expect(descendantsOf(process.pid).filter(pid => !before.includes(pid))).toEqual([]);
  });
});
