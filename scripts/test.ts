/** The test command: what tests need is there, the code is clean, every test passes. Ends with `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePrograms } from './programs.ts';

const given = process.argv.slice(2);
ensurePrograms(['git', 'tmux']);

let failures = 0;
if (given.length === 0)
  for (const [program, ...args] of [['biome', 'check', '.'], ['tsc', '-p', 'tsconfig.json'], ['knip']])
    if (spawnSync(program!, args, { stdio: 'inherit' }).status !== 0) {
      console.error(
        `\n${program} found something; see above (npm run fix mends what can be mended by itself)`,
      );
      failures++;
    }

const folder = mkdtempSync(join(tmpdir(), 'squad-tests-'));
const report = join(folder, 'report.json');
const vitest = spawnSync(
  'vitest',
  ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...given],
  { stdio: 'inherit' },
);
const { passed, failed, total } = counts(report);
rmSync(folder, { recursive: true });
// Nothing may be passed over in silence: a skipped test, or a run that broke off, counts as failed.
const missing = total - passed - failed;
if (missing > 0) console.error(`${missing} tests did not run`);
const broke = vitest.status !== 0 && failed === 0 ? 1 : 0;
console.log(`\n${passed} passed, ${failed + missing + failures + broke} failed`);
process.exit(failed + missing + failures + broke > 0 || passed === 0 ? 1 : 0);

function counts(file: string): { passed: number; failed: number; total: number } {
  try {
    const { numPassedTests, numFailedTests, numTotalTests } = JSON.parse(readFileSync(file, 'utf8'));
    return { passed: numPassedTests, failed: numFailedTests, total: numTotalTests };
  } catch {
    return { passed: 0, failed: 0, total: 0 };
  }
}
