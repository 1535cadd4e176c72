import { expect, test } from 'vitest';
import type { RunId } from '../schema/ids.ts';
import { deadlineOf } from './deadline.ts';
import { PLAIN_OPTIONS } from './testing/plain-options.ts';

const asked = { createdAt: 1_000, timeoutMs: 500 };

test('the time of a run is that of its work', () => {
  expect(deadlineOf({ ...asked, options: PLAIN_OPTIONS }, 1_400)).toBe(1_900);
});

test('the time of a call runs from the call on, also while it waits for a place', () => {
  const options = { ...PLAIN_OPTIONS, subagent: 'helper' };
  expect(deadlineOf({ ...asked, options }, 1_400)).toBe(1_500);
});

test('the time of a call that somebody took up again is that of its work', () => {
  const options = {
    ...PLAIN_OPTIONS,
    subagent: 'helper',
    takesUp: { runId: 'run_0123456789' as RunId, by: 'retry' as const },
  };
  expect(deadlineOf({ ...asked, options }, 1_400)).toBe(1_900);
});
