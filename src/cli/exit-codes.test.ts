import { expect, test } from 'vitest';
import { RunStatus } from '../schema/run.ts';
import { EXIT, exitFor } from './exit-codes.ts';

test('a reviewer that was ended because its part was done is no failure to a script', () => {
  const well = RunStatus.options.filter(status => exitFor([status]) === EXIT.done);
  expect(well).toEqual(['completed', 'terminated']);
  expect(exitFor(['completed', 'error'])).toBe(EXIT.failed);
});
