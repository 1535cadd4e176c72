import { longestStart } from '../../core/output/digest.ts';
import type { Run, RunError } from '../../schema/run.ts';

/** Why a run failed, as a result shows it: with the tool that was called, if one was. */
export function runError(
  run: Run,
  tool: string | undefined,
  maxLength: number,
): { code: string; message: string; tool_name?: string } | null {
  const error = run.error ?? timedOut(run);
  return (
    error && {
      code: error.code,
      message: longestStart(error.message, maxLength),
      ...(tool !== undefined && { tool_name: tool }),
    }
  );
}

/** A run that reached its time limit has no error of its own unless its engine reported one. */
function timedOut({ status, startedAt, timeoutMs }: Run): RunError | null {
  if (status !== 'timeout') return null;
  const state = startedAt === null ? 'had not started' : 'was not done';
  const message = `It ${state} within its time limit of ${timeoutMs / 1_000} s and was stopped. What it wrote until then is kept.`;
  return { code: 'TIMEOUT', message };
}
