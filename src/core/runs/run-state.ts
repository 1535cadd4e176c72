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
  | 'await_children'
  | 'await_limit'
  | 'resume'
  | 'start_again'
  | 'continue'
  | 'terminate'
  | 'abandon';

/** All status transitions of a run. Any other transition is an error. */
const TABLE: Partial<Record<RunStatus, Partial<Record<RunTransition, RunStatus>>>> = {
  queued: {
    start: 'running',
    // A run can fail before its agent exists: without a chat, a command or a process.
    fail: 'error',
    // A queued run can time out, because the timeout of a subagent call includes the time in the queue.
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
    // The run's turn has ended, and the end of a child run or a message begins its next turn.
    await_children: 'waiting_children',
    // The run's turn has ended at a usage limit of its engine, and the next turn begins when the limit is reset.
    await_limit: 'waiting_limit',
    // Another attempt follows, because the agent was lost with its machine or its engine reached a usage limit.
    start_again: 'queued',
    // The run's turn has ended, and its next turn delivers the waiting messages.
    continue: 'queued',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  // A run can wait for a review while its turn still runs: the agent that requested the review may continue to its
  // end.
  waiting_review: {
    resume: 'queued',
    complete: 'completed',
    fail: 'error',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  waiting_children: {
    resume: 'queued',
    complete: 'completed',
    fail: 'error',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  waiting_limit: {
    resume: 'queued',
    fail: 'error',
    cancel: 'cancelled',
    lose: 'lost',
    terminate: 'terminated',
    abandon: 'abandoned',
  },
  // A person may abandon the task of a coder at its review limit after the run has ended.
  completed: { abandon: 'abandoned' },
};

export function nextStatus(status: RunStatus, step: RunTransition): RunStatus {
  const next = TABLE[status]?.[step];
  if (!next) throw new SquadError('INTERNAL', `A run that is ${status} cannot ${step.replace('_', ' ')}`);
  return next;
}

/** Transition of a run that Squad stops while no agent is running. */
export function stepOfUnstarted(reason: StopReason | null): RunTransition {
  if (reason === 'terminate' || reason === 'abandon') return reason;
  return reason === 'timeout' ? 'time_out' : 'cancel';
}

const FAILED: readonly RunStatus[] = ['error', 'timeout', 'lost'];
const SUCCEEDED: readonly RunStatus[] = ['completed', 'terminated'];

/**
 * True if all runs have ended, at least one failed and none succeeded. A run that somebody stopped counts as neither.
 */
export function allFailed(runs: readonly RunStatus[]): boolean {
  return (
    runs.every(isEnd) &&
    runs.some(status => FAILED.includes(status)) &&
    !runs.some(status => SUCCEEDED.includes(status))
  );
}

export type SquadStatus = 'running' | 'completed' | 'needs_you' | 'failed';

/** A squad is running until all members have ended, and completed only if all of them completed. */
export function squadStatus(members: readonly ShownStatus[]): SquadStatus {
  if (!members.every(status => status === 'needs_you' || isEnd(status))) return 'running';
  if (members.every(status => status === 'completed')) return 'completed';
  return members.every(status => status === 'completed' || status === 'needs_you') ? 'needs_you' : 'failed';
}
