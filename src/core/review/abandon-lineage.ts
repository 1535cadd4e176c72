import { randomUUID } from 'node:crypto';
import type { RunId } from '../../schema/ids.ts';
import type { Intent } from '../../schema/intent.ts';
import { isEnd } from '../../schema/run.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { descendantsOf } from '../descendants.ts';
import type { Change } from '../ports/store.ts';
import { closing } from './close-review.ts';
import { EVERY_REVIEW, type ReviewPorts, runNow } from './ports.ts';

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
  { store, runner, checkpoint }: ReviewPorts,
): Promise<void> {
  const live = runner.liveRuns().filter(run => run.lineageId === lineageId && !isEnd(run.status));
  for (const { id, reviewOf, worktree } of live) {
    if (reviewOf === null) runner.note(id, `Given up: ${why}${worktree ? ` ${whereItIs(worktree)}` : ''}`);
    await runner.stop(id, reviewOf === null ? 'abandon' : 'terminate');
    for (const child of await descendantsOf(store, id))
      if (child.lineageId !== lineageId) await runner.stop(child.id, 'cancel');
    checkpoint('abandon:2');
  }
  await store.commit({ intentsDone: [intentId], events: [] });
}

/** Whether anything was left to save is not known before its agent has ended. */
const whereItIs = (worktree: Worktree): string =>
  `Its work is on branch ${worktree.branch}; what was not committed, if anything, is saved as ${savedRefOf(worktree)}.`;
