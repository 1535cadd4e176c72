import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OUTSIDE_ERRORS } from './outside-errors.ts';
import { type FileReport, readOutside, readReport } from './test-report.ts';

export interface Counts {
  passed: number;
  failures: string[];
  /** Failed beside others, passed when run again alone: told by name, because each is a bug of the test or of ours. */
  unsteady: string[];
}

interface Surroundings {
  /** Makes of a command line the one to run instead. */
  wrap?: (command: string[]) => string[];
  env?: Record<string, string>;
}

/** More than these, and it is not the machine. */
const MAX_RUN_AGAIN = 5;

export function runVitest(args: string[], surroundings: Surroundings = {}): Counts {
  const files = run(args, surroundings);
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  return { passed, failures: files.flatMap(file => file.failures), unsteady: [] };
}

/** Runs Vitest, then runs each file with failures again alone; the second result counts. */
export function runVitestPatiently(options: string[], surroundings: Surroundings = {}): Counts {
  const first = run(options, surroundings);
  const failed = first.filter(file => file.failures.length > 0);
  const again = failed.length <= MAX_RUN_AGAIN && failed.every(({ file }) => file !== OUTSIDE);
  const last = first.map(file =>
    again && failed.includes(file) ? inOne(file.file, run([...options, file.file], surroundings)) : file,
  );
  return {
    passed: last.reduce((sum, file) => sum + file.passed, 0),
    failures: last.flatMap(file => file.failures),
    unsteady: failed.filter(({ file }) => isGood(last, file)).flatMap(file => file.failures),
  };
}

const isGood = (files: FileReport[], name: string): boolean =>
  files.some(({ file, failures }) => file === name && failures.length === 0);

const inOne = (file: string, reports: FileReport[]): FileReport => ({
  file,
  passed: reports.reduce((sum, report) => sum + report.passed, 0),
  failures: reports.flatMap(report => report.failures),
});

/** Stands for a file where something failed outside of every test. */
const OUTSIDE = '(outside of a test)';
const REPORTER = join(import.meta.dirname, 'outside-errors.ts');

function run(args: string[], { wrap = command => command, env = {} }: Surroundings): FileReport[] {
  const folder = mkdtempSync(join(tmpdir(), 'squad-tests-'));
  const report = join(folder, 'report.json');
  const outside = join(folder, 'outside.json');
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`, '--reporter=json'];
  const [program, ...rest] = wrap(['vitest', 'run', ...reporters, `--outputFile.json=${report}`, ...args]);
  const vitest = spawnSync(program!, rest, {
    stdio: 'inherit',
    env: { ...process.env, ...env, [OUTSIDE_ERRORS]: outside },
  });
  const files = readReport(report, args.includes('-t'));
  const failures = readOutside(outside);
  rmSync(folder, { recursive: true });
  const hasFailed = failures.length > 0 || files.some(file => file.failures.length > 0);
  if (vitest.status !== 0 && !hasFailed) failures.push(`${OUTSIDE}: vitest broke off; see above`);
  return failures.length > 0 ? [...files, { file: OUTSIDE, passed: 0, failures }] : files;
}
