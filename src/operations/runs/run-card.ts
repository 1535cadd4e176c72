import { oneLine } from '../../base/one-line.ts';
import { visibleText } from '../../base/visible-text.ts';
import { isFreshFailure, needOf } from '../../core/runs/need.ts';
import type { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { isEnd, type Run, runSummary } from '../../schema/run.ts';
import type { RunCard } from '../../schema/run-card.ts';
import type { UserServices } from '../operation.ts';
import { asksUser } from './asks-user.ts';
import { quietOf } from './quiet.ts';
import { undecidedAmong } from './undecided.ts';

type CardServices = Pick<UserServices, 'store' | 'runner' | 'clock' | 'activity' | 'inbox'>;

const LONGEST_TITLE = 80;
const LONGEST_QUESTION = 160;

/** Runs as lists show them, in the order given. A live one is as it is at this moment. */
export async function cardsOf(services: CardServices, runs: readonly Run[]): Promise<RunCard[]> {
  const { store, clock } = services;
  const now = clock.now();
  const failures = runs.filter(run => isFreshFailure(run, now)).map(({ id }) => id);
  const takenUp = failures.length > 0 ? await store.takenUp(failures) : new Set<RunId>();
  const undecided = await undecidedAmong(services, runs);
  const activities = await Promise.all(
    runs.map(({ id, status }) => (isEnd(status) ? null : services.activity.of(id))),
  );
  return runs.map((run, i) => ({
    ...ofRow(run),
    ...ofNow(services, run, {
      isTakenUp: takenUp.has(run.id),
      isUndecided: undecided.has(run.id),
      now,
    }),
    activity: isEnd(run.status) ? null : activities[i]!,
  }));
}

function ofRow(run: Run) {
  const { id, squadId, parentId, reviewOf, lineageId, roleId, options, engine, model, workspace, worktree } =
    run;
  const { status, error, turn, evidence, createdAt, startedAt, endedAt } = run;
  return {
    ...{
      id,
      squadId,
      parentId,
      reviewOf,
      lineageId,
      roleId,
      subagent: options.subagent,
      engine,
      model,
      workspace,
    },
    title: oneLine(runSummary(run), LONGEST_TITLE),
    branch: worktree?.branch ?? null,
    ...{ status, error, turn, createdAt, startedAt, endedAt },
    lines: evidence?.diff ?? null,
    verdict: evidence?.verdict ?? null,
  };
}

/** What is not in its row, or not yet. */
function ofNow(
  services: CardServices,
  run: Run,
  facts: { isTakenUp: boolean; isUndecided: boolean; now: number },
) {
  const { runner } = services;
  const { id, status } = run;
  const isOver = isEnd(status);
  const asks = isOver ? [] : services.inbox.openOf(id);
  return {
    need: needOf(run, { asksUser: asksUser(asks), ...facts }),
    asks: asks.length,
    asking: asking(asks),
    quiet: quietOf(services, run),
    isStopping: !isOver && runner.isStopping(id),
    usage: (isOver ? null : runner.usageOf(id)) ?? run.usage,
  };
}

/** The oldest that the user is asked. */
function asking(asks: readonly InboxItem[]): RunCard['asking'] {
  const first = asks.find(({ owner }) => owner === 'user') ?? asks[0];
  if (!first) return null;
  const { id, kind, question, details, choices } = first;
  return {
    ...{ id, kind, choices },
    question: oneLine(visibleText(question), LONGEST_QUESTION),
    hasDetails: details !== null,
  };
}
