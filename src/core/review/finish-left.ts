import type { ReviewId, RunId } from '../../schema/ids.ts';
import type { Intent } from '../../schema/intent.ts';
import { finishAbandoning } from './abandon-lineage.ts';
import { finishFeedback } from './give-feedback.ts';
import type { ReviewPorts } from './ports.ts';

/** Goes on with what was begun for a task and has not come to its end. Returns the reviews whose feedback still has to wait. */
export async function finishLeft(lineageId: RunId, ports: ReviewPorts): Promise<Set<ReviewId>> {
  const waiting = new Set<ReviewId>();
  for (const intent of await ports.store.intents()) {
    if (intent.kind === 'abandon' && intent.lineageId === lineageId) await finishAbandoning(intent, ports);
    if (intent.kind !== 'send_feedback' || (await lineageOf(intent, ports)) !== lineageId) continue;
    if (!(await finishFeedback(intent, ports))) waiting.add(intent.reviewId);
  }
  return waiting;
}

/** Tasks for which something was begun. */
export async function lineagesLeft(ports: ReviewPorts): Promise<RunId[]> {
  const lineages: RunId[] = [];
  for (const intent of await ports.store.intents()) {
    if (intent.kind === 'abandon') lineages.push(intent.lineageId);
    const lineageId = intent.kind === 'send_feedback' ? await lineageOf(intent, ports) : null;
    if (lineageId) lineages.push(lineageId);
  }
  return lineages;
}

const lineageOf = async (
  { reviewId }: Extract<Intent, { kind: 'send_feedback' }>,
  { store }: ReviewPorts,
): Promise<RunId | null> => (await store.review(reviewId))?.lineageId ?? null;
