import type { Intent } from '../../schema/intent.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { finishFeedback, SOON_MS } from './give-feedback.ts';
import type { ReviewPorts } from './ports.ts';
import { takeBackRequest } from './request-review.ts';

/** Finishes or takes back what an earlier hub was in the middle of. One that cannot be must not keep the others from it. */
export async function finishIntents(ports: ReviewPorts): Promise<void> {
  for (const intent of await ports.store.intents())
    await finish(intent, ports).catch(thrown =>
      ports.warn(`What was under way (${intent.kind}) could not be brought to its end`, thrown),
    );
}

/** Nobody is served meanwhile: what another git is in the way of is left for later, or as it is. */
async function finish(intent: Intent, ports: ReviewPorts): Promise<void> {
  switch (intent.kind) {
    case 'request_review':
      return takeBackRequest(intent, ports, SOON_MS);
    case 'send_feedback':
      await finishFeedback(intent, ports);
      return;
    case 'abandon':
      // Runs are to be stopped, and none has been taken in yet.
      return;
    case 'create_pull_request':
      // Its host has to be asked: proposals see to it themselves.
      return;
  }
}

/** As far back as it is worth looking. */
const MOST = { runs: 1_000, events: 10_000 };

/** Runs whose work trees were to be removed at their end, and nobody has tried yet. */
export async function worktreesLeft({ store }: ReviewPorts): Promise<Run[]> {
  const runs = await store.runs({ hasWorktree: true, limit: MOST.runs });
  const done = runs.filter(run => isEnd(run.status) && (run.reviewOf !== null || run.status === 'abandoned'));
  if (done.length === 0) return [];
  const tried = await store.events({
    types: ['worktree.removed', 'worktree.kept'],
    limit: MOST.events,
    reverse: true,
  });
  const seen = new Set(tried.map(({ runId }) => runId));
  return done.filter(({ id }) => !seen.has(id));
}
