import type { Run } from '../schema/run.ts';
import { isSubagentCall } from './subagent-call.ts';

/** When the time of a turn is up: of a call, whose caller waits all the while, counted from the call on; else from the start of the work. */
export const deadlineOf = (
  run: Pick<Run, 'createdAt' | 'timeoutMs' | 'options'>,
  startedAt: number,
): number => (isSubagentCall(run) ? run.createdAt : startedAt) + run.timeoutMs;
