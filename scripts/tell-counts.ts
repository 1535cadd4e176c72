import type { Counts } from './run-vitest.ts';

/** Says what failed, then what was unsteady, and last `N passed, N failed`; the exit code that goes with it. */
export function tell(runs: Counts[]): number {
  const passed = runs.reduce((sum, run) => sum + run.passed, 0);
  const failures = runs.flatMap(run => run.failures);
  const unsteady = runs.flatMap(run => run.unsteady);
  for (const failure of failures) console.log(`\nfailed: ${failure}`);
  for (const test of unsteady) console.log(`\nunsteady (failed, then passed alone): ${test}`);
  if (unsteady.length > 0) console.log(`\n${unsteady.length} unsteady: each is a bug to be found`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return failures.length > 0 || passed === 0 ? 1 : 0;
}
