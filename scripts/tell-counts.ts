import type { Counts } from './run-vitest.ts';

const SLOWEST_SHOWN = 10;

/** Prints the slowest files, then failed and unsteady tests, then `N passed, N failed`. Returns the exit code. */
export function tell(runs: Counts[]): number {
  const passed = runs.reduce((sum, run) => sum + run.passed, 0);
  const failures = runs.flatMap(run => run.failures);
  const files = runs.flatMap(run => run.files).toSorted((a, b) => b.seconds - a.seconds);
  console.log(`\nSlowest of ${files.length} files, in seconds:`);
  for (const { file, seconds } of files.slice(0, SLOWEST_SHOWN))
    console.log(`${seconds.toFixed(1).padStart(7)}  ${file}`);
  for (const failure of failures) console.log(`\nfailed: ${failure}`);
  const unsteady = runs.flatMap(run => run.unsteady);
  for (const test of unsteady) console.log(`\nunsteady (failed, then passed alone): ${test}`);
  if (unsteady.length > 0) console.log(`\n${unsteady.length} unsteady: each is a bug to be found`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return failures.length > 0 || passed === 0 ? 1 : 0;
}
