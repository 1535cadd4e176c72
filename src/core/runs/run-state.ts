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

/** Every change of a run's state there is. What is not in the table cannot happen. */
const TABLE: Partial<Record<RunStatus, Partial<Record<RunTransition, RunStatus>>>> = {
  queued: {
    start: 'running',
    // A run can fail before its agent exists: no chat, no command, no process.
    fail: 'error',
    // The time of a call runs while it waits for a place.
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
  // With or without a turn at work: the agent that asked may go on to its end.
  waiting_review: {
    resume: 'queued',
    complete: 'completed',
    fail: 'error',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  // A coder whose reviews ran out: a person may give its task up after it has ended.
  completed: { abandon: 'abandoned' },
};

export function nextStatus(status: RunStatus, step: RunTransition): RunStatus {
  const next = TABLE[status]?.[step];
  if (!next) throw new SquadError('INTERNAL', `A run that is ${status} cannot ${step.replace('_', ' ')}`);
  return next;
}

/** How a run ends that Squad stops while no agent of it is at work. */
export function stepOfUnstarted(reason: StopReason | null): RunTransition {
  if (reason === 'terminate' || reason === 'abandon') return reason;
  return reason === 'timeout' ? 'time_out' : 'cancel';
}

const FAILED: readonly RunStatus[] = ['error', 'timeout', 'lost'];
const SUCCEEDED: readonly RunStatus[] = ['completed', 'terminated'];

/** All runs are over, at least one failed and none succeeded. A run that somebody stopped counts as neither. */
export function allFailed(runs: readonly RunStatus[]): boolean {
  return (
    runs.every(isEnd) &&
    runs.some(status => FAILED.includes(status)) &&
    !runs.some(status => SUCCEEDED.includes(status))
  );
}

export type SquadStatus = 'running' | 'completed' | 'needs_you' | 'failed';

/** A squad is what its members are: over when all are over, completed only when all are. */
export function squadStatus(members: readonly ShownStatus[]): SquadStatus {
  if (!members.every(status => status === 'needs_you' || isEnd(status))) return 'running';
  if (members.every(status => status === 'completed')) return 'completed';
  return members.every(status => status === 'completed' || status === 'needs_you') ? 'needs_you' : 'failed';
}
