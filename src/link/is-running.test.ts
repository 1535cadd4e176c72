import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isRunning } from './hub-record.ts';

test('a live process is running; one that ended is not, even before its parent reaped it', async () => {
  expect(isRunning(process.pid)).toBe(true);
  // The shell becomes `sleep`, which never asks after the child it was given: that one stays a zombie.
  const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const child = Number(line.toString());
  for (let i = 0; i < 1000 && isRunning(child); i++) await new Promise(wake => setTimeout(wake, 5));
  expect(isRunning(child)).toBe(false);
  expect(isRunning(parent.pid!)).toBe(true);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  expect(isRunning(parent.pid!)).toBe(false);
});
