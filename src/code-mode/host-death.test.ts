import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';

const host = join(import.meta.dirname, 'testing', 'host-at-work.ts');

test.each([
  ['SIGKILL', 'an endless loop', ['console.log(1); for (;;);']],
  ['SIGKILL', 'a call that never ends', ['console.log(1); await tools.hang()']],
  ['SIGKILL', 'a guest without a program yet', []],
  ['SIGTERM', 'a guest without a program yet', []],
] as const)('a host killed by %s leaves no process behind: %s', async (signal, _, program) => {
  const child = spawn(process.execPath, ['--no-warnings', host, ...program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const below = descendantsOf(child.pid!);
  expect(below.length).toBeGreaterThanOrEqual(2);
  child.kill(signal);
  await once(child, 'exit');
  await expect.poll(() => below.filter(isThere)).toEqual([]);
});

const isThere = (pid: number) => existsSync(`/proc/${pid}`);
