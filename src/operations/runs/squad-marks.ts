import { z } from 'zod';
import { oneLine } from '../../base/one-line.ts';
import type { Event } from '../../schema/event.ts';
import { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Services } from '../operation.ts';

const LONGEST = 200;
const MOST_OF_RUN = 1_000;
const TOLD = [
  'inbox.asked',
  'inbox.settled',
  'review.requested',
  'review.closed',
  'pull_request.opened',
  'branch.integrated',
  'run.stopping',
] satisfies Event['body']['type'][];

/** Something on a run's line of time that people look for. */
export const Mark = z.object({
  runId: RunId,
  at: z.number(),
  kind: z.enum(['question', 'review', 'answer', 'unanswered', 'pull_request', 'merge', 'stop']),
  text: z.string(),
});
type Mark = z.infer<typeof Mark>;

/** Oldest first. */
export async function marksOf({ store }: Pick<Services, 'store'>, ids: readonly RunId[]): Promise<Mark[]> {
  const events = await Promise.all(
    ids.map(runId => store.events({ runId, types: TOLD, limit: MOST_OF_RUN, reverse: true })),
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
    text: oneLine(text, LONGEST),
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
