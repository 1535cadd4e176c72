import { expect, test } from 'vitest';
import { memoryOfTree } from '../process/table/descendants.ts';
import { watchSpare, watchTree } from './guest-process.ts';

const MEMORY_MB = 16;

test('memory used before the program does not count against it', async () => {
  expect(memoryOfTree(process.pid)).toBeGreaterThan(MEMORY_MB * 1024 * 1024);
  const { promise, resolve } = Promise.withResolvers<string>();
  const stop = watchTree(process.pid, { timeoutMs: 300, memoryMb: MEMORY_MB, outputChars: 1 }, resolve);
  expect(await promise).toBe('time');
  stop();
});

test('memory used from then on counts', async () => {
  let reason: string | undefined;
  const stop = watchTree(process.pid, { timeoutMs: 30_000, memoryMb: MEMORY_MB, outputChars: 1 }, ended => {
    reason = ended;
  });
  const taken: Buffer[] = [];
  // Several pieces, because other tests of this process may give memory back meanwhile.
  await expect
    .poll(() => {
      taken.push(Buffer.alloc(3 * MEMORY_MB * 1024 * 1024, 1));
      return reason;
    })
    .toBe('memory');
  stop();
});

test('all memory of a spare guest counts', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = watchSpare(process.pid, MEMORY_MB, resolve);
  await promise;
  stop();
});
