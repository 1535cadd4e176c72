import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hubArguments } from '../../src/link/start-hub.ts';
import { BIN, TestSquad, until } from '../support/squad.ts';

const HUB = join(import.meta.dirname, '..', '..', 'dist', 'hub.cjs');

/** Writes every name that a process looks up, and every address that it tries to connect to, into the file. */
const recorder = (file: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { subscribe } from 'node:diagnostics_channel';
    import { appendFileSync } from 'node:fs';
    const record = host => appendFileSync(${JSON.stringify(file)}, host + '\\n');
    subscribe('net.client.socket', ({ socket }) => {
      socket.on('lookup', (error, address, family, host) => record(host));
      socket.on('connectionAttempt', address => record(address));
    });
  `)}`;

const hosts = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

test('hub, relay and commands connect to no other machine', { tags: ['S14'] }, async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const file = join(squad.root, 'hosts');
  const connect = "require('node:net').connect(9, '127.0.0.9').on('error', () => {})";
  spawnSync(process.execPath, ['--import', recorder(file), '-e', connect]);
  expect(hosts(file)).toEqual(['127.0.0.9']);

  const record = ['--import', recorder(file)];
  spawn(process.execPath, [...record, ...hubArguments(HUB)], {
    cwd: '/',
    env: squad.env,
    detached: true,
    stdio: 'ignore',
  }).unref();
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [...record, BIN, ...args], {
      cwd: squad.workspace,
      env: squad.env,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    if (args[0] === 'mcp') child.stdin.end(`${JSON.stringify(INITIALIZE)}\n`);
    const [code] = await once(child, 'exit');
    return code;
  };
  await until('the hub answers', async () => (await run('hub', 'status')) === 0);
  expect(await run('run', 'coder', 'Say hello')).toBe(0);
  for (const args of [['ls'], ['doctor'], ['cost'], ['open', '--no-browser'], ['mcp']]) await run(...args);
  await run('hub', 'stop');

  const others = hosts(file).filter(host => !/^(127\.[\d.]+|::1|localhost|.*\/hub\.sock)$/.test(host));
  expect(others).toEqual([]);
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
