import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessTable, type ProcessTable } from '../table/process-table.ts';
import { type LoggedEnd, runLogged } from './run-logged.ts';

export interface Check {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All of it: nothing is taken over from this process. */
  env: Record<string, string>;
  limitMs: number;
  signal?: AbortSignal;
}

export interface CheckResult {
  outcome: 'passed' | 'failed' | 'timeout' | 'not_started';
  exitCode: number | null;
  /** The end of what it printed. */
  output: string;
  durationMs: number;
}

export interface CheckPorts {
  /** In the environment of everything it starts, so that a later hub can still find it. */
  nextTag(): string;
  table?: ProcessTable;
}

const SHOWN_BYTES = 8 * 1024;

/** Runs a command of the user's that says yes or no; whatever it started ends with it. */
export function createRunCheck({ nextTag, table = createProcessTable() }: CheckPorts) {
  return async (check: Check): Promise<CheckResult> => {
    const start = performance.now();
    const folder = await mkdtemp(join(tmpdir(), 'squad-check-'));
    try {
      const logFile = join(folder, 'output');
      const end = await runLogged({ ...check, table, tag: nextTag(), logFile });
      const said = await endOf(logFile);
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

async function endOf(file: string): Promise<string> {
  const log = await open(file, 'r');
  try {
    const { size } = await log.stat();
    const length = Math.min(size, SHOWN_BYTES);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, size - length);
    const text = buffer.toString('utf8', 0, bytesRead);
    // Half a character at the cut is not worth showing, and neither is the half of a line.
    return length < size ? text.slice(text.indexOf('\n') + 1) : text;
  } finally {
    await log.close();
  }
}
