import { z } from 'zod';
import type { RunRequest } from '../../core/runs/run-request.ts';
import { isEnd, RunStatus } from '../../schema/run.ts';
import type { Call, Tool } from '../operation.ts';
import { reportFailure } from '../report-failure.ts';
import { RunResult, runResult } from './run-result.ts';
import { startMembers } from './start-members.ts';
import { waitForEndsOrAsks } from './wait-or-asks.ts';

/** Starts one run and waits for it, unless told not to. */
export async function spawnOne(
  call: Call,
  request: RunRequest,
  { async: isAsync = false }: { async?: boolean },
): Promise<RunResult> {
  const { runs, warnings } = await startMembers(call, { members: [request] });
  const { run } = runs[0]!;
  await waitForEndsOrAsks(call, [run], isAsync ? 0 : call.waitMs);
  reportFailure(call, [run]);
  return runResult(call.services, run, { ...call, warnings });
}

const { spawn_id, status, success, result, cost_usd, note } = RunResult.shape;
const loose = z.looseObject({});

/** What clients are told of a result; `get_result` tells all of it. */
const listedResult = z.object({
  spawn_id,
  status,
  success,
  result,
  structured: z.unknown().optional(),
  cost_usd,
  evidence: loose,
  error: loose.optional(),
  note,
});

/** What every tool has that starts one run. */
export const SPAWN_TOOL = {
  readOnly: false,
  listed: { output: listedResult },
  task: (answer: unknown, input: unknown) => {
    const { spawn_id: id, status: now } = answer as RunResult;
    return { id, isOpen: !isEnd(RunStatus.parse(now)) && !isAsync(input) };
  },
} satisfies Partial<Tool>;

/** Who asked not to wait has the id, and needs no task. */
export const isAsync = (input: unknown): boolean => (input as { async?: unknown } | null)?.async === true;
