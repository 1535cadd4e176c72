import { beforeEach, expect, test } from 'vitest';
import type { z } from 'zod';
import type { EventBody } from '../../schema/event.ts';
import type { Run } from '../../schema/run.ts';
import { aReview, aSquad, aTurn } from '../../store/fixtures/sample-rows.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { showSquad } from './show-squad.ts';

type Shown = z.output<typeof showSquad.output>;

let hub: BoardHub;
beforeEach(async () => {
  hub = await BoardHub.open();
});
const usage = (costUsd: number | null, input: number | null = null) => ({
  ...{ input, output: null, cached: null, costUsd, costIsEstimated: false },
});
const tell = (run: Run, ...bodies: EventBody[]) =>
  hub.store.commit({
    events: bodies.map((body, i) => ({ at: hub.now + i, runId: run.id, squadId: run.squadId, body })),
  });

test('has the members in their order, all that came of them, and what each took with it', async () => {
  const below = aSquad();
  await hub.store.commit({ squads: [below], events: [] });
  const member = hub.run({ status: 'completed', position: 0, usage: usage(1, 100) });
  const second = hub.run({ status: 'running', position: 1, type: null });
  const child = hub.run({
    squadId: below.id,
    status: 'completed',
    parentId: member.id,
    usage: usage(null, 5),
  });
  const reviewer = hub.run({
    squadId: below.id,
    status: 'terminated',
    reviewOf: member.id,
    usage: usage(0.25),
  });
  const stranger = hub.run({ squadId: below.id, status: 'completed', usage: usage(9) });
  await hub.put(second, member, child, reviewer, stranger);
  hub.usages.set(second.id, usage(2));
  await hub.store.commit({
    reviews: [aReview(member, reviewer)],
    turns: [aTurn(member, { endedAt: hub.now, exitCode: 0 }), aTurn(second)],
    events: [],
  });
  const shown = await hub.ask<Shown>(showSquad, { squad: hub.squad.id });
  expect(shown.runs.map(({ id }) => id)).toEqual([member.id, second.id, child.id, reviewer.id]);
  expect(shown.turns.map(({ runId, exitCode }) => [runId, exitCode]).sort()).toEqual(
    [
      [member.id, 0],
      [second.id, null],
    ].sort(),
  );
  expect(shown.totals[member.id]).toEqual({
    own: usage(1, 100),
    withChildren: usage(1.25, 105),
    unreported: 1,
  });
  expect(shown.totals[second.id]).toEqual({ own: usage(2), withChildren: usage(2), unreported: 0 });
  expect(shown.totals[child.id]).toMatchObject({ withChildren: usage(null, 5), unreported: 1 });
  expect(shown.total).toEqual({ usage: usage(3.25, 105), unreported: 1 });
});

test('unreported usage is unknown in every sum', async () => {
  const run = hub.run({ status: 'completed' });
  await hub.put(run);
  const { totals, total } = await hub.ask<Shown>(showSquad, { squad: hub.squad.id });
  expect(totals[run.id]).toEqual({ own: null, withChildren: null, unreported: 1 });
  expect(total).toEqual({ usage: null, unreported: 1 });
});

test('marks the notable events in order, and nothing else', async () => {
  const run = hub.run({ status: 'running' });
  await hub.put(run);
  const reviewId = aReview(run, run).id;
  await tell(
    run,
    { type: 'run.activity', kind: 'text', text: 'Busy.' },
    { type: 'review.requested', reviewId, reviewerId: run.id, iteration: 1, commit: 'c'.repeat(40) },
    {
      ...{ type: 'review.closed', reviewId, reviewerId: run.id, iteration: 1 },
      ...{ outcome: 'needs_work', reason: null, feedbackCommit: null },
    },
    { type: 'pull_request.opened', number: 7, url: 'https://host/7', branch: 'b', existed: false },
    { type: 'branch.integrated', branch: 'squad/a\u001b[31m', into: 'main', commit: 'c' },
    { type: 'run.stopping', reason: 'cancel' },
  );
  const { marks } = await hub.ask<Shown>(showSquad, { squad: hub.squad.id });
  expect(marks.map(({ kind, text }) => [kind, text])).toEqual([
    ['review', 'review 1 asked for'],
    ['review', 'review 1: needs work'],
    ['pull_request', 'pull request #7 https://host/7'],
    ['merge', 'squad/a␛[31m merged into main'],
    ['stop', 'being stopped: cancel'],
  ]);
});
