import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OUTSIDE_ERRORS } from './outside-errors.ts';
import { type FileReport, readOutside, readReport } from './test-report.ts';

export interface Counts {
  passed: number;
  failures: string[];
  files: FileReport[];
}

interface Surroundings {
  /** Makes of a command line the one to run instead. */
  wrap?: (command: string[]) => string[];
  env?: Record<string, string>;
}

const REPORTER = join(import.meta.dirname, 'outside-errors.ts');

export async function runVitest(
  args: string[],
  { wrap = command => command, env = {} }: Surroundings = {},
): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-tests-'));
  const report = join(folder, 'report.json');
  const outside = join(folder, 'outside.json');
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`, '--reporter=json'];
  const command = wrap(['vitest', 'run', ...reporters, `--outputFile.json=${report}`, ...args]);
  const status = await runCommand(command, { env: { ...env, [OUTSIDE_ERRORS]: outside } });
  const files = readReport(report, args.includes('-t'));
  const failures = [...files.flatMap(file => file.failures), ...readOutside(outside)];
  rmSync(folder, { recursive: true });
  if (status !== 0 && failures.length === 0) failures.push('vitest broke off; see above');
  return { passed: files.reduce((sum, file) => sum + file.passed, 0), failures, files };
}

/** Runs a command to its end; returns its exit code. With `isQuiet` it prints at its end, because something else prints now. */
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
