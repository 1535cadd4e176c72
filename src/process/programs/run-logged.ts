import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPage } from '../output/output-page.ts';
import { killTree, type Leftover, sweep } from '../table/kill-tree.ts';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import { createProcessTable, type ProcessTable } from '../table/process-table.ts';
import { endWithUs } from './group-reaper.ts';
import type { ProgramStart } from './run-program.ts';
import { createServiceTree, TERM_MS } from './service.ts';

interface LoggedRun extends ProgramStart {
  table: ProcessTable;
  /** Mark for the environment of everything that the command starts. A later hub uses it to find these processes. */
  tag: string;
  /** File to which the command's output is appended. */
  logFile: string;
  limitMs: number;
  signal?: AbortSignal;
}

export interface LoggedEnd {
  code: number | null;
  killedBy: string | null;
  /** Why the command was ended early, or why it could not be started. */
  cut: 'time' | 'abort' | { missing: string } | null;
}

/** Runs a command of the user to its end, without a shell. Every process that the command started ends with it. */
export async function runLogged(run: LoggedRun): Promise<LoggedEnd> {
  if (run.signal?.aborted) return { code: null, killedBy: null, cut: 'abort' };
  const child = start(run);
  const exit = exitOf(child);
  const { pid } = child;
  if (pid === undefined) return exit;
  const release = endWithUs(pid);
  return ended(run, pid, exit).finally(release);
}

async function ended(run: LoggedRun, pid: number, exit: Promise<LoggedEnd>): Promise<LoggedEnd> {
  const tree = createServiceTree(run.table, run.tag, pid);
  const cut = await cutBefore(exit, run);
  if (cut) {
    const killAt = performance.now() + TERM_MS;
    await killTree(run.table, tree, () => killAt);
    return { ...(await exit), cut };
  }
  tree.wrapperEnded(Date.now());
  await sweep(run.table, tree, TERM_MS);
  return exit;
}

/**
 * Ends processes that a logged command of an earlier hub may have left behind. Returns processes that could not be
 * ended.
 */
export async function endLogged(table: ProcessTable, tag: string): Promise<Leftover[]> {
  const killAt = performance.now() + TERM_MS;
  return killTree(table, createServiceTree(table, tag, 0), () => killAt);
}

function start({ argv: [program, ...args], cwd, env, tag, logFile }: LoggedRun): ChildProcess {
  // With a run's mark the command would be ended together with a turn of that run.
  const { [RUN_VARIABLE]: _run, [TURN_VARIABLE]: _turn, ...rest } = env;
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(program, args, {
      cwd,
      env: { ...rest, [SERVICE_VARIABLE]: tag },
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

function exitOf(child: ChildProcess): Promise<LoggedEnd> {
  return new Promise(resolve => {
    child.once('error', error => resolve({ code: null, killedBy: null, cut: { missing: error.message } }));
    child.once('exit', (code, killedBy) => resolve({ code, killedBy, cut: null }));
  });
}

/** Why the command has to be ended. Null when the command ended by itself. */
function cutBefore(exit: Promise<unknown>, { limitMs, signal }: LoggedRun): Promise<'time' | 'abort' | null> {
  return new Promise(resolve => {
    const onAbort = () => settle('abort');
    const timer = setTimeout(() => settle('time'), limitMs);
    signal?.addEventListener('abort', onAbort);
    void exit.then(() => settle(null));

    function settle(cut: 'time' | 'abort' | null): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(cut);
    }
  });
}

interface Check extends ProgramStart {
  limitMs: number;
  signal?: AbortSignal;
  onStart?(readOutput: () => Promise<string>): void;
}

interface CheckResult {
  outcome: 'passed' | 'failed' | 'timeout' | 'not_started';
  exitCode: number | null;
  /** Last part of the command's output. */
  output: string;
  durationMs: number;
}

interface CheckPorts {
  /**
   * Returns a new mark for the environment of everything that the check starts. A later hub uses it to find these
   * processes.
   */
  nextTag(): string;
  table?: ProcessTable;
}

const SHOWN_BYTES = 8 * 1024;

/** Runs a check command of the user. Every process that the check started ends with it. */
export function createRunCheck({ nextTag, table = createProcessTable() }: CheckPorts) {
  return async (check: Check): Promise<CheckResult> => {
    const start = performance.now();
    const folder = await mkdtemp(join(tmpdir(), 'squad-check-'));
    try {
      const logFile = join(folder, 'output');
      check.onStart?.(() => endOfLog(logFile, SHOWN_BYTES));
      const end = await runLogged({ ...check, table, tag: nextTag(), logFile });
      const said = await endOfLog(logFile, SHOWN_BYTES);
      return {
        outcome: outcomeOf(end),
        exitCode: end.code,
        output: typeof end.cut === 'object' && end.cut ? end.cut.missing : said,
        durationMs: Math.round(performance.now() - start),
      };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
}

function outcomeOf({ code, cut }: LoggedEnd): CheckResult['outcome'] {
  if (cut === null) return code === 0 ? 'passed' : 'failed';
  return cut === 'time' ? 'timeout' : cut === 'abort' ? 'failed' : 'not_started';
}

/** Returns the last lines of a log, without a partial first line. Empty if the log cannot be read. */
export async function endOfLog(file: string, maxBytes: number): Promise<string> {
  const { text, offset } = await readPage(file, -maxBytes, maxBytes, () => true);
  return offset > 0 ? text.slice(text.indexOf('\n') + 1) : text;
}
