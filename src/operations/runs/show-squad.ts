import { z } from 'zod';
import { oneLine } from '../../base/text.ts';
import { isUnreported, usageTogether } from '../../core/cost/usage.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import type { Event } from '../../schema/event.ts';
import { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { type Run, Squad, Turn, Usage } from '../../schema/run.ts';
import { RunCard } from '../../schema/run-card.ts';
import { deliveryText } from '../../schema/run-text.ts';
import { operation, type Services } from '../operation.ts';
import { currentRun, findSquad } from './find-runs.ts';
import { cardsOf } from './run-card.ts';

const MAX_MARK_LENGTH = 200;
const MAX_OF_RUN = 1_000;
const MARK_TYPES = [
  'inbox.asked',
  'inbox.settled',
  'review.requested',
  'review.closed',
  'pull_request.opened',
  'branch.integrated',
  'run.sent',
  'run.receipt',
  'run.stopping',
] satisfies Event['body']['type'][];

/** An event on a run's timeline. */
const Mark = z.object({
  runId: RunId,
  at: z.number(),
  kind: z.enum([
    'question',
    'review',
    'answer',
    'unanswered',
    'pull_request',
    'merge',
    'message',
    'undelivered',
    'stop',
  ]),
  text: z.string(),
});
type Mark = z.infer<typeof Mark>;

/** Events for the timeline, oldest first. */
async function marksOf({ store }: Pick<Services, 'store'>, ids: readonly RunId[]): Promise<Mark[]> {
  const events = await Promise.all(
    ids.map(runId => store.events({ runId, types: MARK_TYPES, limit: MAX_OF_RUN, reverse: true })),
  );
  return events
    .flat()
    .sort((a, b) => a.seq - b.seq)
    .flatMap(event => markOf(event) ?? []);
}

function markOf({ runId, at, body }: Event): Mark | null {
  if (runId === null) return null;
  const mark = (kind: Mark['kind'], text: string): Mark => ({
    runId,
    at,
    kind,
    text: oneLine(text, MAX_MARK_LENGTH),
  });
  switch (body.type) {
    case 'inbox.asked':
      return mark('question', body.item.question);
    case 'inbox.settled':
      return body.item.state === 'answered'
        ? mark('answer', body.item.answer ?? 'answered')
        : mark('unanswered', unanswered(body.item));
    case 'review.requested':
      return mark('review', `review ${body.iteration} asked for`);
    case 'review.closed':
      return mark('review', `review ${body.iteration}: ${body.outcome.replaceAll('_', ' ')}`);
    case 'pull_request.opened':
      return mark('pull_request', `pull request #${body.number} ${body.url}`);
    case 'branch.integrated':
      return mark('merge', `${body.branch} merged into ${body.into}`);
    case 'run.sent':
      return mark(
        body.delivery === 'undelivered' ? 'undelivered' : 'message',
        `to ${body.to ?? 'the client'}: ${body.text}`,
      );
    case 'run.receipt':
      return body.delivery === 'undelivered'
        ? mark('undelivered', `message to ${body.to}: ${deliveryText(body.delivery)}`)
        : null;
    case 'run.stopping':
      return mark('stop', `being stopped: ${body.reason.replaceAll('_', ' ')}`);
    default:
      return null;
  }
}

function unanswered({ state, answer }: InboxItem): string {
  if (state === 'declined') return 'declined';
  if (state !== 'expired') return `${state}: nobody had answered`;
  return answer === null ? 'no answer in time' : `no answer in time, taken as: ${answer}`;
}

const MAX_ROUNDS = 10_000;

/** A squad with everything it started: the tree, its timeline, and its usage. */
export const showSquad = operation({
  name: 'show_squad',
  route: 'GET /squads/{squad}',
  input: z.strictObject({ squad: z.string() }),
  output: z.object({
    squad: Squad,
    /** Members in their order, then their descendants, including reviewers. */
    runs: z.array(RunCard),
    turns: z.array(Turn.pick({ runId: true, number: true, startedAt: true, endedAt: true, exitCode: true })),
    /** Events on the timeline, oldest first. */
    marks: z.array(Mark),
    totals: z.record(
      RunId,
      z.object({
        own: Usage.nullable(),
        /** Usage including all descendants. Null if none of them has reported any. */
        withChildren: Usage.nullable(),
        /** Number of ended runs among them with unknown cost, which is not included in the sum. */
        unreported: z.number(),
      }),
    ),
    total: z.object({ usage: Usage.nullable(), unreported: z.number() }),
  }),
  async run({ services }, { squad: given }) {
    const { squad, runs: members } = await findSquad(services, given);
    const runs = await family(services, members);
    const ids = runs.map(({ id }) => id);
    const [cards, turns, marks] = await Promise.all([
      cardsOf(services, runs),
      services.store.turnsOf(ids),
      marksOf(services, ids),
    ]);
    const usages = new Map(cards.map(({ id, usage }) => [id, usage]));
    return {
      squad,
      runs: cards,
      turns: turns.map(({ runId, number, startedAt, endedAt, exitCode }) => ({
        ...{ runId, number, startedAt, endedAt, exitCode },
      })),
      marks,
      totals: totalsOf(runs, usages),
      total: sumOf(runs, usages),
    };
  },
});

async function family(services: Services, members: Run[]): Promise<Run[]> {
  const { store } = services;
  const found = new Map<RunId, Run>(members.map(run => [run.id, run]));
  const add = async (rows: Run[]) => {
    for (const row of rows) if (!found.has(row.id)) found.set(row.id, await currentRun(services, row));
  };
  for (const { id } of members) await add(await descendantsOf(store, id));
  // A reviewer is listed below the run it reviews, even if its parent is another run.
  for (const { id, type } of [...found.values()]) {
    const reviews = type === null ? [] : await store.reviews({ coderId: id, limit: MAX_ROUNDS });
    for (const { reviewerId } of reviews) {
      const reviewer = found.has(reviewerId) ? null : await store.run(reviewerId);
      if (reviewer) await add([reviewer, ...(await descendantsOf(store, reviewerId))]);
    }
  }
  return [...found.values()];
}

type Usages = ReadonlyMap<RunId, Usage | null>;

function totalsOf(runs: readonly Run[], usages: Usages) {
  const children = Map.groupBy(runs, run => run.parentId ?? run.reviewOf);
  /** Each run once, even if a damaged database contains a loop of parents. */
  const below = (run: Run, seen: Set<Run> = new Set([run])): Set<Run> => {
    for (const child of children.get(run.id) ?? []) {
      if (seen.has(child)) continue;
      seen.add(child);
      below(child, seen);
    }
    return seen;
  };
  return Object.fromEntries(
    runs.map(run => {
      const { usage, unreported } = sumOf([...below(run)], usages);
      return [run.id, { own: usages.get(run.id) ?? null, withChildren: usage, unreported }];
    }),
  );
}

function sumOf(runs: readonly Run[], usages: Usages) {
  const usageOf = (run: Run) => usages.get(run.id) ?? null;
  return {
    usage: usageTogether(runs.map(usageOf)),
    unreported: runs.filter(run => isUnreported(run, usageOf(run))).length,
  };
}
