import type { HubSettings } from '../../schema/config.ts';
import { FeedbackType } from '../../schema/review.ts';
import type { Run, RunError, StopReason } from '../../schema/run.ts';
import { REVIEW_LIMIT } from '../../schema/shown-status.ts';
import { overBudget } from '../cost/budget.ts';
import type { EngineEnd } from '../ports/engine.ts';
import type { Store } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { limitReached, roundsOf } from '../review/rounds.ts';
import { truncate } from '../text.ts';
import type { EngineReport } from './engine-report.ts';
import type { LiveRun } from './live-run.ts';
import type { RunTransition } from './run-state.ts';

/** Delay between the deadline and the wrapper's own watchdog, so that a running hub always acts first. */
export const HARD_LIMIT_GRACE_MS = 30_000;

export interface Outcome {
  step: RunTransition;
  error: RunError | null;
}

export interface Facts {
  end: TurnEnd;
  stop: StopReason | null;
  deadlineAt: number;
  /** Null if the engine has no events, so that only the exit code shows how the turn ended. */
  events: (Pick<EngineReport, 'end' | 'retry'> & { linesDropped: number }) | null;
  /** True if the agent had finished its work and waited for the hub to end its input. */
  wasIdle: boolean;
  timeoutMs: number;
}

/** Decides how a turn ended, from facts alone. A stop by Squad outranks the agent's report. */
export function judge({ end, stop, deadlineAt, events, wasIdle, timeoutMs }: Facts): Outcome {
  const retry = events?.retry ?? null;
  const timedOut: Outcome = { step: 'time_out', error: retry && timeoutWhileRetrying(retry, timeoutMs) };
  if (stop === 'cancel') return { step: 'cancel', error: null };
  if (stop === 'terminate' || stop === 'abandon') return { step: stop, error: null };
  if (stop === 'timeout') return timedOut;
  if (stop === 'output_limit')
    return failed(
      'OUTPUT_LIMIT',
      'The run wrote more than output.max_bytes allows. Its output so far is kept.',
    );
  if (stop === 'budget')
    return failed('BUDGET_EXCEEDED', 'The run reached its budget and was stopped. Its work so far is kept.');
  if (stop === 'stall')
    return failed(
      'STALLED',
      `The run gave no sign of life for as long as its role allows (\`stall\`) and was stopped. Its work so far is kept.${
        retry ? ` ${lastFailure(retry)}` : ''
      }`,
    );
  if (end.spawnError) return failed('SPAWN_FAILED', `The agent could not be started: ${end.spawnError}`);
  if (end.exitCode === null)
    return {
      step: 'lose',
      error: {
        code: 'LOST',
        message:
          end.lost ??
          'Its process is gone and left no exit record: it was killed from outside, or the machine went down. Its output is kept if its folder still exists.',
      },
    };
  // A turn that ends this late was ended by the wrapper's watchdog. Most agents end on TERM, a few only on KILL.
  if (!wasIdle && end.exitCode !== 0 && end.endedAt >= deadlineAt + HARD_LIMIT_GRACE_MS - 1_000)
    return timedOut;
  if (events) return judgeEvents(events, end.exitCode);
  if (end.exitCode === 0) return { step: 'complete', error: null };
  return failed('ENGINE_FAILED', exitText(end.exitCode));
}

/** Tolerance for file times: their resolution is the kernel's tick, so an exit can appear slightly too early. */
const TICK_MS = 10;

/**
 * Why Squad ended the turn. Null if the turn had already ended by itself. An agent reports its last usage and its
 * success at almost the same time, so the hub may request a budget stop between the two. An agent without work may have
 * waited for the hub until a time limit. In both cases the success counts.
 */
export function stopInForce(
  stop: StopReason | null,
  askedAt: number | null,
  end: TurnEnd,
  reported: EngineEnd | null,
  wasIdle = false,
): StopReason | null {
  const isTime = stop === 'timeout' || stop === 'stall';
  if (reported?.ok && (stop === 'budget' || (isTime && wasIdle))) return null;
  const wasTooLate = askedAt !== null && end.exitCode !== null && end.endedAt + TICK_MS < askedAt;
  return wasTooLate ? null : stop;
}

function judgeEvents({ end, linesDropped }: NonNullable<Facts['events']>, exitCode: number): Outcome {
  if (!end && linesDropped > 0 && exitCode === 0)
    return failed(
      'OUTPUT_LIMIT',
      'The answer is in a line that is too long to read (over 8 MiB). `squad log` shows the whole output.',
    );
  if (!end)
    return failed(
      'ENGINE_FAILED',
      `The engine ended without reporting a result (${exitText(exitCode)}), so the run counts as failed.`,
    );
  if (!end.ok) return failed(end.code ?? 'ENGINE_FAILED', end.error ?? exitText(exitCode));
  return { step: 'complete', error: null };
}

type Retry = NonNullable<EngineReport['retry']>;

/** Error of a run that reached its timeout while its engine was waiting to repeat an API request. */
function timeoutWhileRetrying(retry: Retry, timeoutMs: number): RunError {
  const { code, waitMs } = retry;
  const isTooLong = waitMs !== null && waitMs > timeoutMs;
  return {
    code,
    message: [
      `Timed out after ${seconds(timeoutMs)}.`,
      lastFailure(retry),
      ...(isTooLong ? [`The wait of ${seconds(waitMs)} is longer than the timeout.`] : []),
    ].join(' '),
  };
}

const lastFailure = ({ text }: Retry): string =>
  `The last thing its engine reported: ${text.replace(/(?<![.!?])$/, '.')}`;

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

/** Limit of an error message, which is stored in the database and events and shown in every list. */
const MAX_MESSAGE_LENGTH = 2_000;

const failed = (code: string, text: string): Outcome => ({
  step: 'fail',
  error: { code, message: truncate(text, MAX_MESSAGE_LENGTH) },
});

function exitText(code: number): string {
  return code > 128 && code < 160 ? `killed by signal ${code - 128}` : `exit code ${code}`;
}

/** Ends that the user caused. They apply even while the run waits for a review. */
const WANTED: readonly Outcome['step'][] = ['cancel', 'abandon', 'terminate'];

/**
 * Outcome of a turn for a run that takes part in a review. A coder that waits for a review keeps waiting, however its
 * turn ended, unless the review ended with a pull request or the run has reached a limit. A reviewer that has
 * delivered its feedback is done, whatever happened afterwards.
 */
export async function outcomeInReview(
  { run, stop, overBudget: spending }: LiveRun,
  outcome: Outcome,
  { store, settings }: ReviewFacts,
): Promise<Outcome | 'waits'> {
  if (WANTED.includes(outcome.step)) return outcome;
  if (run.status === 'waiting_review') {
    if (stop === 'budget' || stop === 'output_limit') return outcome;
    if (spending && (run.options.stopAtBudget || spending.scope !== 'run'))
      return { step: 'fail', error: { code: 'BUDGET_EXCEEDED', message: overBudget(spending) } };
    const last = (await store.reviews({ coderId: run.id, limit: MAX_REVIEWS })).at(-1);
    return last?.outcome === 'pull_request' ? { step: 'complete', error: null } : 'waits';
  }
  if (run.reviewOf === null) {
    const error = outcome.step === 'complete' ? await undecidedError(run, { store, settings }) : null;
    return error ? { ...outcome, error } : outcome;
  }
  const [review] = await store.reviews({ reviewerId: run.id, limit: 1 });
  return review && isDelivered(review.outcome) ? { step: 'terminate', error: null } : outcome;
}

interface ReviewFacts {
  store: Pick<Store, 'reviews' | 'reviewLimit' | 'events'>;
  settings(): HubSettings;
}

/** The error of a coder that completed with no review rounds left and no approval: a person has to decide. */
async function undecidedError(run: Run, { store, settings }: ReviewFacts): Promise<RunError | null> {
  if (run.type !== 'coding') return null;
  const { id: runId, lineageId } = run;
  const reviews = await store.reviews({ lineageId, limit: MAX_REVIEWS });
  if (reviews.length === 0) return null;
  const [proposed, calls] = await Promise.all([
    store.events({ runId, types: ['pull_request.opened'], limit: 1 }),
    store.events({ runId, types: ['tool.called'], limit: MAX_REVIEWS, reverse: true }),
  ]);
  if (proposed.length > 0) return null;
  const rounds = roundsOf(reviews, await store.reviewLimit(lineageId), settings());
  const last = reviews.findLast(({ coderId }) => coderId === runId) ?? null;
  const wasRefused = calls.some(({ body }) => body.type === 'tool.called' && body.code === REVIEW_LIMIT);
  return limitReached(rounds, runId, { last, wasRefused });
}

const MAX_REVIEWS = 1_000;

const isDelivered = (outcome: string | null): boolean =>
  outcome === 'pull_request' || FeedbackType.safeParse(outcome).success;
