import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

export interface Counts {
  passed: number;
  failed: number;
  /** Which, and how: the end of a long log is what people see. */
  failures: string[];
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
  const { passed, failed, total, failures } = counts(report);
  rmSync(folder, { recursive: true });
  const missing = total - passed - failed;
  if (missing > 0) failures.push(`${missing} tests did not run`);
  const broke = vitest.status !== 0 && failed === 0 ? 1 : 0;
  if (broke) failures.push('vitest broke off, or something failed outside of a test; see above');
  return { passed, failed: failed + missing + broke, failures };
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numTotalTests: number;
  testResults: {
    name: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}

function counts(file: string): Counts & { total: number } {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, total: 0, failures: [] };
  }
  const failures = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages = [] }) =>
        [`${relative('.', name)} › ${fullName}`, ...failureMessages.map(beginning)].join('\n'),
      ),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    total: report.numTotalTests,
    failures,
  };
}

const LINES_SHOWN = 12;

const beginning = (message: string): string =>
  message
    .split('\n')
    .slice(0, LINES_SHOWN)
    .map(line => `    ${line}`)
    .join('\n');
