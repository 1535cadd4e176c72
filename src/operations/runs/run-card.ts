import { oneLine, visibleText } from '../../base/text.ts';
import { attentionLevel, FAILURES, isFreshFailure } from '../../core/runs/board.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { isEnd, type Run, runSummary } from '../../schema/run.ts';
import type { Quiet, RunCard } from '../../schema/run-card.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Services, UserServices } from '../operation.ts';
import { undecidedAmong } from './run-notes.ts';

/** Whether a question is for the user. Other questions are for the run that started the asking run. */
export const asksUser = (asks: readonly InboxItem[]): boolean => asks.some(({ owner }) => owner === 'user');

export function stallOf({ runner }: Pick<Services, 'runner'>, { id, status }: Run): Quiet | null {
  // The stall watch may be a moment behind the end of a run.
  const silence = isEnd(status) ? null : runner.silenceOf(id);
  if (silence === null || silence.state === 'working') return null;
  return { state: silence.state, since: silence.since, text: silence.sentence };
}

type CardServices = Pick<UserServices, 'store' | 'runner' | 'clock' | 'activity' | 'inbox' | 'branchStates'>;

const MAX_TITLE_LENGTH = 80;
const MAX_QUESTION_LENGTH = 160;

/** Cards of runs, in the order given, with their current state. */
export async function cardsOf(services: CardServices, runs: readonly Run[]): Promise<RunCard[]> {
  const { store, clock } = services;
  const now = clock.now();
  const failures = runs.filter(run => isFreshFailure(run, now)).map(({ id }) => id);
  const takenUp = failures.length > 0 ? await store.takenUp(failures) : new Set<RunId>();
  const undecided = await undecidedAmong(services, runs);
  const branches = await services.branchStates.of(runs);
  const hubs = await store.hubsOf(runs.map(({ id }) => id));
  const asksOf = await openAsks(services, runs);
  const activities = await Promise.all(
    runs.map(({ id, status }) => (isEnd(status) ? null : services.activity.of(id))),
  );
  return runs.map((run, i) => ({
    ...ofRow(run),
    ...ofNow(services, run, {
      isTakenUp: takenUp.has(run.id),
      isUndecided: undecided.has(run.id),
      asks: isEnd(run.status) ? [] : asksOf(run.id),
      now,
    }),
    hub: hubs.get(run.id) ?? null,
    branchState: branches.get(run.id) ?? null,
    activity: isEnd(run.status) ? null : activities[i]!,
  }));
}

function ofRow(run: Run) {
  const { id, squadId, parentId, reviewOf, lineageId, roleId, options, engine, model, workspace, worktree } =
    run;
  const { status, error, turn, evidence, createdAt, startedAt, endedAt } = run;
  return {
    ...{ id, squadId, parentId, reviewOf, lineageId, roleId, engine, model, workspace },
    subagent: options.subagent,
    title: oneLine(runSummary(run), MAX_TITLE_LENGTH),
    branch: worktree?.branch ?? null,
    sandbox: options.sandbox.level,
    machine: options.machine,
    ...{ status, error, turn, createdAt, startedAt, endedAt },
    limitedUntil: options.limit?.until ?? null,
    lines: evidence?.diff ?? null,
    verdict: evidence?.verdict ?? null,
  };
}

/** Fields of a card that come from the running hub, not from the database. */
function ofNow(
  services: CardServices,
  run: Run,
  { asks, ...facts }: { isTakenUp: boolean; isUndecided: boolean; now: number; asks: InboxItem[] },
) {
  const { runner } = services;
  const { id, status } = run;
  const isOver = isEnd(status);
  return {
    need: attentionLevel(run, { asksUser: asksUser(asks), ...facts }),
    asks: asks.length,
    asking: asking(asks),
    quiet: stallOf(services, run),
    isStopping: !isOver && runner.isStopping(id),
    usage: (isOver ? null : runner.usageOf(id)) ?? run.usage,
  };
}

/** Open questions of each of these runs, oldest first. Those of other hubs are read from the database. */
export async function openAsks(
  { inbox, runner }: Pick<Services, 'inbox' | 'runner'>,
  runs: readonly Run[],
): Promise<(id: RunId) => InboxItem[]> {
  const isElsewhere = runs.some(({ id, status }) => !isEnd(status) && !runner.current(id));
  const elsewhere = isElsewhere ? (await inbox.openElsewhere()).toReversed() : [];
  return id => [...inbox.openOf(id), ...elsewhere.filter(item => item.runId === id)];
}

/** The oldest question to the user. */
function asking(asks: readonly InboxItem[]): RunCard['asking'] {
  const first = asks.find(({ owner }) => owner === 'user') ?? asks[0];
  if (!first) return null;
  const { id, kind, question, details, choices } = first;
  return {
    ...{ id, kind, choices },
    question: oneLine(visibleText(question), MAX_QUESTION_LENGTH),
    hasDetails: details !== null,
  };
}

const MAX_TRIES = 50;

/** Every run whose card may have changed with these events, with its current state. */
export async function touchedRuns(
  { runner, store }: Pick<Services, 'runner' | 'store'>,
  events: readonly Event[],
): Promise<Run[]> {
  const touched = new Map<RunId, Run>();
  for (const { runId, body } of events)
    for (const id of [runId, 'reviewerId' in body ? body.reviewerId : null]) {
      if (id === null || touched.has(id)) continue;
      const run = runner.current(id) ?? (await store.run(id));
      if (run) touched.set(id, run);
    }
  // Earlier runs of the task of a retry or reply change too, for example because a failure no longer needs attention,
  // but no event reports that.
  const begun = events.filter(({ body }) => body.type === 'run.queued' && body.turn === undefined);
  for (const { runId } of begun) {
    const run = runId === null ? undefined : touched.get(runId);
    if (!run || run.lineageId === run.id) continue;
    const { lineageId } = run;
    for (const left of await store.runs({ lineageId, status: [...FAILURES, 'completed'], limit: MAX_TRIES }))
      if (!touched.has(left.id) && (left.status !== 'completed' || left.worktree || isAtReviewLimit(left)))
        touched.set(left.id, left);
  }
  return [...touched.values()];
}
