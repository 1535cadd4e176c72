import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { socketPath } from './home.ts';
import { connect, connectOrStart, knock } from './start-hub.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'squad-start-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function program(script: string) {
  const file = join(root, 'hub.cjs');
  writeFileSync(file, script);
  return { node: process.execPath, script: file };
}
const start = (script: string, env: Record<string, string> = {}, timeoutMs = 10_000) =>
  connectOrStart({ home: join(root, 'home'), env, program: program(script), timeoutMs });

/** Serves one connection with what it was started with, and ends. */
const SERVES = `
  const server = require('node:net').createServer(socket => {
    socket.end(JSON.stringify({ env: process.env, cwd: process.cwd() }));
    server.close();
  }).listen(process.env.SQUAD_HOME + '/hub.sock');`;

test('a hub is started away from the folder and the environment of whoever needs it', async () => {
  const env = { HOME: '/h', MCP_LOG_LEVEL: 'debug', OPENAI_API_KEY: 'secret', NODE_OPTIONS: '--no-warnings' };
  const socket = await start(SERVES, env);
  let text = '';
  for await (const chunk of socket) text += chunk;
  const started = JSON.parse(text);
  expect(started.cwd).toBe('/');
  expect(started.env).toMatchObject({ HOME: '/h', MCP_LOG_LEVEL: 'debug', SQUAD_HOME: join(root, 'home') });
  expect(started.env).not.toHaveProperty('OPENAI_API_KEY');
  expect(started.env).not.toHaveProperty('NODE_OPTIONS');
});

test('a hub that could not start is reported with its own message and code', async () => {
  const shape = { code: 'DATABASE_CORRUPT', message: 'It is damaged', suggestions: ['Move it.'] };
  await expect(
    start(
      `console.error('a warning'); console.error(${JSON.stringify(JSON.stringify(shape))}); process.exit(1)`,
    ),
  ).rejects.toMatchObject(shape);
});

test('a hub that dies of something else is reported with its whole stderr', async () => {
  await expect(start('console.error("no such thing"); process.exit(3)')).rejects.toMatchObject({
    code: 'HUB_UNREACHABLE',
    message: 'The hub ended with code 3: no such thing',
  });
});

test('a missing program is reported, not waited for', async () => {
  const gone = { node: join(root, 'no-node'), script: 'x' };
  await expect(connectOrStart({ home: join(root, 'home'), env: {}, program: gone })).rejects.toMatchObject({
    code: 'HUB_UNREACHABLE',
    message: expect.stringContaining('ENOENT'),
  });
});

test('a hub that never answers is given up after a while', async () => {
  const script = `require('node:fs').writeFileSync(${JSON.stringify(join(root, 'pid'))}, String(process.pid)); setInterval(() => {}, 1000)`;
  await expect(start(script, {}, 500)).rejects.toMatchObject({ message: 'The hub did not answer in time' });
  // It may not have come that far on a busy machine.
  await expect
    .poll(() => existsSync(join(root, 'pid')) && readFileSync(join(root, 'pid'), 'utf8'))
    .toMatch(/\d/);
  process.kill(Number(readFileSync(join(root, 'pid'), 'utf8')), 'SIGKILL');
});

test('a hub that found another one is started again when that other one has gone', async () => {
  // The first two find the lock taken; the third has it.
  const count = JSON.stringify(join(root, 'count'));
  const socket = await start(`
    const { appendFileSync, readFileSync } = require('node:fs');
    appendFileSync(${count}, 'x');
    if (readFileSync(${count}, 'utf8').length < 3) process.exit(75);
    ${SERVES}`);
  socket.destroy();
  expect(readFileSync(join(root, 'count'), 'utf8')).toBe('xxx');
});

test('a hub that is killed while it starts is started again', async () => {
  const count = JSON.stringify(join(root, 'count'));
  const socket = await start(`
    const { appendFileSync, readFileSync } = require('node:fs');
    appendFileSync(${count}, 'x');
    if (readFileSync(${count}, 'utf8').length < 3) process.kill(process.pid, 'SIGKILL');
    ${SERVES}`);
  socket.destroy();
  expect(readFileSync(join(root, 'count'), 'utf8')).toBe('xxx');
});

test('nothing is said to a socket in a folder that others can write to', async () => {
  const path = socketPath(root);
  const server = createServer(socket => void socket.end()).listen(path);
  await new Promise(settle => server.once('listening', settle));
  chmodSync(root, 0o777);
  expect(await connect(path)).toBeNull();
  chmodSync(root, 0o700);
  (await connect(path))!.destroy();
  await new Promise(settle => server.close(settle));
});

test('knocking starts nothing, and ends when somebody opens or time is up', async () => {
  const server = createServer(socket => void socket.end());
  expect(await knock(root, 50)).toBeNull();
  const knocking = knock(root, 10_000);
  server.listen(socketPath(root));
  (await knocking)!.destroy();
  await new Promise(settle => server.close(settle));
});
