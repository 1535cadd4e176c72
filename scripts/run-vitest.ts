import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OUTSIDE_ERRORS } from './outside-errors.ts';
import { type FileReport, readOutside, readReport } from './test-report.ts';

export interface Counts {
  passed: number;
  failures: string[];
  /**
   * Tests that failed beside others and passed alone. They are printed by name, because each is a bug of the test or of
   * Squad.
   */
  unsteady: string[];
  files: FileReport[];
}

interface Surroundings {
  /** Changes a command line into the one to run. */
  wrap?: (command: string[]) => string[];
  env?: Record<string, string>;
  /** Print the output at the end, because something else prints until then. */
  isQuiet?: boolean;
}

const REPORTER = join(import.meta.dirname, 'outside-errors.ts');

/** Maximum number of files that are run again. If more files fail, the machine is not the cause. */
const MAX_RUN_AGAIN = 5;

export async function runVitest(args: string[], surroundings: Surroundings = {}): Promise<Counts> {
  const { files, outside } = await run(args, surroundings);
  return countsOf(files, outside);
}

/** Runs Vitest, then runs each file with failures again alone; the second result counts. */
export async function runVitestPatiently(args: string[], surroundings: Surroundings = {}): Promise<Counts> {
  const { files, outside } = await run(args, surroundings);
  const failed = files.filter(({ failures }) => failures.length > 0);
  if (outside.length > 0 || failed.length > MAX_RUN_AGAIN) return countsOf(files, outside);
  const unsteady: string[] = [];
  for (const first of failed) {
    const again = await runVitest([...args, first.file], surroundings);
    if (again.failures.length === 0) unsteady.push(...first.failures);
    Object.assign(first, { passed: again.passed, failures: again.failures });
  }
  return { ...countsOf(files, []), unsteady };
}

const countsOf = (files: FileReport[], outside: string[]): Counts => ({
  passed: files.reduce((sum, file) => sum + file.passed, 0),
  failures: [...files.flatMap(file => file.failures), ...outside],
  unsteady: [],
  files,
});

/** Runs Vitest once. `outside` are errors outside of every test. */
async function run(
  args: string[],
  { wrap = command => command, env = {}, isQuiet }: Surroundings,
): Promise<{ files: FileReport[]; outside: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-tests-'));
  const report = join(folder, 'report.json');
  const outside = join(folder, 'outside.json');
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`, '--reporter=json'];
  const command = wrap(['vitest', 'run', ...reporters, `--outputFile.json=${report}`, ...args]);
  const status = await runCommand(command, { env: { ...env, [OUTSIDE_ERRORS]: outside }, isQuiet });
  const files = readReport(report, args.includes('-t'));
  const errors = readOutside(outside);
  rmSync(folder, { recursive: true });
  const hasFailed = errors.length > 0 || files.some(({ failures }) => failures.length > 0);
  if (status !== 0 && !hasFailed) errors.push('vitest broke off; see above');
  return { files, outside: errors };
}

/**
 * Runs a command to its end, and returns its exit code. With `isQuiet` its output is printed at its end, because
 * another command is printing meanwhile.
 */
export async function runCommand(
  [program, ...args]: string[],
  { env = {}, isQuiet = false }: { env?: Record<string, string>; isQuiet?: boolean } = {},
): Promise<number | null> {
  const output = isQuiet ? 'pipe' : 'inherit';
  const child = spawn(program!, args, { stdio: ['ignore', output, output], env: { ...process.env, ...env } });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => printed.push(chunk));
  const status = await new Promise<number | null>((settle, fail) =>
    child.once('error', fail).once('close', settle),
  );
  process.stdout.write(Buffer.concat(printed));
  return status;
}
