import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Counts {
  passed: number;
  failed: number;
}

interface Surroundings {
  /** Makes of a command line the one to run instead. */
  wrap?: (command: string[]) => string[];
  env?: Record<string, string>;
}

/** Nothing may be passed over in silence: a skipped test, or a run that broke off, counts as failed. */
export function runVitest(
  args: string[],
  { wrap = command => command, env = {} }: Surroundings = {},
): Counts {
  const folder = mkdtempSync(join(tmpdir(), 'squad-tests-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const [program, ...rest] = wrap(['vitest', 'run', ...reporters, ...args]);
  const vitest = spawnSync(program!, rest, { stdio: 'inherit', env: { ...process.env, ...env } });
  const { passed, failed, total } = counts(report);
  rmSync(folder, { recursive: true });
  const missing = total - passed - failed;
  if (missing > 0) console.error(`${missing} tests did not run`);
  const broke = vitest.status !== 0 && failed === 0 ? 1 : 0;
  return { passed, failed: failed + missing + broke };
}

function counts(file: string): { passed: number; failed: number; total: number } {
  try {
    const { numPassedTests, numFailedTests, numTotalTests } = JSON.parse(readFileSync(file, 'utf8'));
    return { passed: numPassedTests, failed: numFailedTests, total: numTotalTests };
  } catch {
    return { passed: 0, failed: 0, total: 0 };
  }
}
