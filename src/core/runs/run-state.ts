import { SquadError } from '../../schema/error.ts';
import { isEnd, type RunStatus, type StopReason } from '../../schema/run.ts';
import type { ShownStatus } from '../../schema/shown-status.ts';

export type RunTransition =
  | 'start'
  | 'complete'
  | 'fail'
  | 'time_out'
  | 'cancel'
  | 'lose'
  | 'await_review'
  | 'resume'
  | 'terminate'
  | 'abandon';

/** All status transitions of a run. Any other is an error. */
const TABLE: Partial<Record<RunStatus, Partial<Record<RunTransition, RunStatus>>>> = {
  queued: {
    start: 'running',
    // A run can fail before its agent exists: no chat, no command, no process.
    fail: 'error',
    // The timeout of a subagent call includes the time in the queue.
    time_out: 'timeout',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  running: {
    complete: 'completed',
    fail: 'error',
    time_out: 'timeout',
    cancel: 'cancelled',
    lose: 'lost',
    await_review: 'waiting_review',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  // With or without a running turn: the agent that requested the review may continue to its end.
  waiting_review: {
    resume: 'queued',
    complete: 'completed',
    fail: 'error',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  // A coder at its review limit: a person may abandon the task after it has ended.
  completed: { abandon: 'abandoned' },
};

export function nextStatus(status: RunStatus, step: RunTransition): RunStatus {
  const next = TABLE[status]?.[step];
  if (!next) throw new SquadError('INTERNAL', `A run that is ${status} cannot ${step.replace('_', ' ')}`);
  return next;
}

/** The transition of a run that Squad stops while it has no running agent. */
export function stepOfUnstarted(reason: StopReason | null): RunTransition {
  if (reason === 'terminate' || reason === 'abandon') return reason;
  return reason === 'timeout' ? 'time_out' : 'cancel';
}

const FAILED: readonly RunStatus[] = ['error', 'timeout', 'lost'];
const SUCCEEDED: readonly RunStatus[] = ['completed', 'terminated'];

/** All runs have ended, at least one failed and none succeeded. A run that somebody stopped counts as neither. */
export function allFailed(runs: readonly RunStatus[]): boolean {
  return (
    runs.every(isEnd) &&
    runs.some(status => FAILED.includes(status)) &&
    !runs.some(status => SUCCEEDED.includes(status))
  );
}

export type SquadStatus = 'running' | 'completed' | 'needs_you' | 'failed';

/** Running until all members have ended; completed only if all of them completed. */
export function squadStatus(members: readonly ShownStatus[]): SquadStatus {
  if (!members.every(status => status === 'needs_you' || isEnd(status))) return 'running';
  if (members.every(status => status === 'completed')) return 'completed';
  return members.every(status => status === 'completed' || status === 'needs_you') ? 'needs_you' : 'failed';
}
