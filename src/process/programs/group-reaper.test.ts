import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const owner = join(import.meta.dirname, '..', 'testing', 'program-owner.ts');
const KINDS = ['program', 'hook', 'logged'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-reaper-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'programs end with the process that started them, which %s ends',
  async signal => {
    const child = spawn(process.execPath, ['--no-warnings', owner, folder], { stdio: 'inherit' });
    await expect.poll(() => existsSync(join(folder, 'ready'))).toBe(true);
    const pids = KINDS.map(kind => Number(readFileSync(join(folder, kind), 'utf8')));
    child.kill(signal);
    await once(child, 'exit');
    await expect.poll(() => pids.filter(pid => existsSync(`/proc/${pid}/exe`))).toEqual([]);
  },
);

test('a program has time to remove its lock when its owner is killed', async () => {
  const child = spawn(process.execPath, ['--no-warnings', owner, folder], { stdio: 'inherit' });
  const lock = join(folder, 'lock');
  await expect.poll(() => existsSync(join(folder, 'ready'))).toBe(true);
  expect(existsSync(lock)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(() => existsSync(lock)).toBe(false);
});
