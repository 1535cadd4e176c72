import { expect, test } from 'vitest';
import { RunStatus } from '../schema/run.ts';
import { EXIT, exitFor } from './exit-codes.ts';

test('a reviewer that was terminated after its feedback does not fail a script', () => {
  const well = RunStatus.options.filter(status => exitFor([status]) === EXIT.done);
  expect(well).toEqual(['completed', 'terminated']);
  expect(exitFor(['completed', 'error'])).toBe(EXIT.failed);
});
