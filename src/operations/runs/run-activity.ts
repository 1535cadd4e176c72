import type { Store } from '../../core/ports/store.ts';
import type { Event } from '../../schema/event.ts';
import type { Run } from '../../schema/run.ts';

const LONGEST = 160;
const TOLD: Event['body']['type'][] = ['run.started', 'run.activity', 'run.quiet', 'run.stopping'];

/** The newest sign of a run that has not ended, in one line; null when there is none yet. */
export async function latestActivity(
  store: Pick<Store, 'events'>,
  { id, status }: Run,
  now: number,
): Promise<string | null> {
  if (status === 'queued') return null;
  const [event] = await store.events({ runId: id, types: TOLD, limit: 1, reverse: true });
  if (!event) return null;
  const words = sentence(event).replace(/\s+/g, ' ').trim();
  const shown = words.length > LONGEST ? `${words.slice(0, LONGEST).toWellFormed()}…` : words;
  return `${shown} (${Math.max(0, Math.round((now - event.at) / 1000))} s ago)`;
}

function sentence({ body }: Event): string {
  switch (body.type) {
    case 'run.activity':
      return body.kind === 'tool' ? `tool: ${body.text}` : body.text;
    case 'run.quiet':
      return body.state === null ? 'at work again' : `${body.state}: ${body.text}`;
    case 'run.stopping':
      return `being stopped: ${body.reason}`;
    default:
      return 'started';
  }
}
