import { expect, test } from 'vitest';
import { withCpuLimit } from './cpu-limit.ts';

test('code that never ends is interrupted', () => {
  const endless = () => {
    for (;;);
  };
  expect(() => withCpuLimit(20, endless)).toThrow('timed out');
});

test('code that had to wait for a busy processor gets another try with more time', () => {
  let tries = 0;
  const waits = () => {
    // The time passes, but this thread uses none of it.
    if (tries++ === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    return 'done';
  };
  expect(withCpuLimit(50, waits)).toBe('done');
  expect(tries).toBeGreaterThan(1);
});

test('a result and an error of the code are passed on', () => {
  expect(withCpuLimit(1_000, () => 3)).toBe(3);
  const fails = () => {
    throw new Error('no');
  };
  expect(() => withCpuLimit(1_000, fails)).toThrow('no');
});
