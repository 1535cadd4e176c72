import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { acquireHubLock } from './startup.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-lock-'));
const socket = join(root, 'hub.sock');
afterAll(() => rmSync(root, { recursive: true }));

test('a lock that is free is taken at once', async () => {
  expect(await acquireHubLock(() => 'mine', socket)).toBe('mine');
});

test('a lock whose holder does not serve any more is waited for', async () => {
  let tries = 0;
  expect(await acquireHubLock(() => (++tries > 3 ? 'mine' : null), socket)).toBe('mine');
});

test('a hub that serves keeps its lock', async () => {
  const server = createServer(each => void each.destroy()).listen(socket);
  await new Promise(settle => server.once('listening', settle));
  expect(await acquireHubLock(() => null, socket)).toBeNull();
  await new Promise(settle => server.close(settle));
});

test('a holder that neither serves nor ends is given up', async () => {
  expect(await acquireHubLock(() => null, socket, 50)).toBeNull();
});
