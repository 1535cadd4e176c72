import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { openWindow } from './terminal-window.ts';

const cwd = mkdtempSync(join(tmpdir(), 'squad-window-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const sh = (script: string) => ['/bin/sh', '-c', script] as const;
const env = { PATH: '/usr/bin:/bin' };

test('a program that stays is left alone, in a session of its own and without a mark of ours', async () => {
  const marks = { SQUAD_RUN_ID: 'run_1', SQUAD_TURN: '1', SQUAD_UPSTREAM: 's', KEPT: 'yes' };
  const argv = sh('env > env.txt; echo $$ > pid.new; mv pid.new pid; read line < never');
  execFileSync('mkfifo', [join(cwd, 'never')]);
  await openWindow({ argv, cwd, env: { ...env, ...marks }, settleMs: 20 });
  await vi.waitUntil(() => existsSync(join(cwd, 'pid')), { timeout: 10_000 });
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
  try {
    const [, , , , , session] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    expect(Number(session)).toBe(pid);
    const seen = readFileSync(join(cwd, 'env.txt'), 'utf8');
    expect(seen).toContain('KEPT=yes');
    expect(seen).not.toContain('SQUAD_');
  } finally {
    process.kill(-pid, 'SIGKILL');
  }
});

test('one that hands its window over and ends has opened it', async () => {
  await expect(openWindow({ argv: sh('exit 0'), cwd, env, settleMs: 60_000 })).resolves.toBeUndefined();
});

test('one that fails at once, or cannot be started, is reported', async () => {
  await expect(openWindow({ argv: sh('exit 3'), cwd, env, settleMs: 60_000 })).rejects.toThrow(
    '/bin/sh ended at once (exit 3)',
  );
  const missing = openWindow({ argv: [join(cwd, 'nothing')], cwd, env, settleMs: 60_000 });
  await expect(missing).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
});
