import { randomUUID } from 'node:crypto';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Intent } from '../../schema/intent.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import type { Change } from '../ports/store.ts';
import { descendantsOf } from '../runs/descendants.ts';
import { nextStatus } from '../runs/run-state.ts';
import { closing } from './close-review.ts';
import { EVERY_REVIEW, eventOf, type ReviewPorts, runNow } from './ports.ts';

/** Gives a task up: whoever is at work on it is stopped. Their work trees go when they have ended, their branches stay. */
export async function abandonLineage(lineageId: RunId, why: string, ports: ReviewPorts): Promise<void> {
  const { store, clock } = ports;
  const intent: AbandonIntent = { id: randomUUID(), kind: 'abandon', at: clock.now(), lineageId, why };
  const closed: Change[] = [];
  for (const review of await store.reviews({ lineageId, limit: EVERY_REVIEW })) {
    const coder = review.outcome === null ? await runNow(ports, review.coderId) : null;
    if (coder) closed.push(closing(review, { outcome: 'cancelled', reason: why }, coder, clock));
  }
  // Both at once: a coder whose review is over goes on, unless it is known that it is not to.
  await store.commit({
    intents: [intent],
    reviews: closed.flatMap(({ reviews = [] }) => reviews),
    events: closed.flatMap(({ events }) => events),
  });
  ports.checkpoint('abandon:1');
  await finishAbandoning(intent, ports);
}

type AbandonIntent = Extract<Intent, { kind: 'abandon' }>;

/** Once everybody was told to stop, that is on disk for each of them. Done twice it does nothing more. */
export async function finishAbandoning(
  { id: intentId, lineageId, why }: AbandonIntent,
  { store, runner, checkpoint, clock }: ReviewPorts,
): Promise<void> {
  const live = runner.liveRuns().filter(run => run.lineageId === lineageId && !isEnd(run.status));
  for (const { id, reviewOf, worktree } of live) {
    if (reviewOf === null) runner.note(id, `Given up: ${why}${worktree ? ` ${whereItIs(worktree)}` : ''}`);
    await runner.stop(id, reviewOf === null ? 'abandon' : 'terminate');
    for (const child of await descendantsOf(store, id))
      if (child.lineageId !== lineageId) await runner.stop(child.id, 'cancel');
    checkpoint('abandon:2');
  }
  const undecided = (await store.runs({ lineageId, limit: EVERY_REVIEW })).filter(isAtReviewLimit);
  const given = undecided.map(run => givenUp(run, why));
  const events = given.map(run => eventOf(clock, run, endOf(run)));
  await store.commit({ runs: given, intentsDone: [intentId], events });
}

/** A coder that completed at the limit of its reviews waits for a decision, and this is one. */
const givenUp = (run: Run, why: string): Run => ({
  ...run,
  status: nextStatus(run.status, 'abandon'),
  error: null,
  notes: [...run.notes, `Given up: ${why}${run.worktree ? ` ${whereItIs(run.worktree)}` : ''}`],
});

const endOf = ({ status, usage, startedAt, endedAt }: Run): Extract<EventBody, { type: 'run.ended' }> => ({
  ...{ type: 'run.ended', status, exitCode: null, error: null, usage, leftovers: [] },
  durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
});

/** Whether anything was left to save is not known before its agent has ended. */
const whereItIs = (worktree: Worktree): string =>
  `Its work is on branch ${worktree.branch}; what was not committed, if anything, is saved as ${savedRefOf(worktree)}.`;
