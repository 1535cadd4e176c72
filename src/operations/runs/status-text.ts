import { oneLine, visibleText } from '../../base/text.ts';
import type { Store } from '../../core/ports/store.ts';
import { truncate } from '../../core/text.ts';
import type { Event } from '../../schema/event.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { type ShownStatus, shownStatus } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';

const MAX_ACTIVITY_CHARS = 160;
const SIGN_TYPES: Event['body']['type'][] = [
  'run.started',
  'run.activity',
  'run.quiet',
  'run.sent',
  'run.stopping',
];

/** The newest activity of a run that has not ended, in one line. Null if there is none yet. */
export async function latestActivity(
  store: Pick<Store, 'events'>,
  { id, status }: Run,
  now: number,
): Promise<string | null> {
  if (status === 'queued') return null;
  const [event] = await store.events({ runId: id, types: SIGN_TYPES, limit: 1, reverse: true });
  if (!event) return null;
  const shown = truncate(sentence(event).replace(/\s+/g, ' ').trim(), MAX_ACTIVITY_CHARS);
  return `${shown} (${Math.max(0, Math.round((now - event.at) / 1000))} s ago)`;
}

function sentence({ body }: Event): string {
  switch (body.type) {
    case 'run.activity':
      return body.kind === 'tool' ? `tool: ${body.text}` : body.text;
    case 'run.quiet':
      return body.state === null ? 'active again' : `${body.state}: ${body.text}`;
    case 'run.sent':
      return `${body.to === null ? 'message' : `to ${body.to}`}: ${body.text}`;
    case 'run.stopping':
      return `being stopped: ${body.reason}`;
    default:
      return 'started';
  }
}

const MAX_LINE_LENGTH = 200;

const STATUS_TEXT: Record<ShownStatus, string> = {
  needs_you: 'needs your decision',
  queued: 'queued',
  running: 'running',
  waiting_review: 'in review',
  waiting_children: 'waiting for its child runs',
  waiting_limit: 'waiting for the usage limit of its engine',
  completed: 'completed',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
  lost: 'lost',
  terminated: 'ended',
  abandoned: 'abandoned',
};

/** The state of runs in one line, for the person at a client. */
export async function statusText(services: Services, runs: readonly Run[]): Promise<string> {
  const [ask, ...more] = services.inbox.openFor(runs.map(({ id }) => id));
  if (ask) {
    const asker = services.runner.current(ask.runId);
    const others = more.length === 0 ? '' : ` (${more.length} more to answer)`;
    return `${asker ? runName(asker) : 'An agent'} asks: ${line(ask.question)}${others}`;
  }
  const [run] = runs;
  if (runs.length > 1 || !run) return statusCounts(runs);
  const activity = isEnd(run.status)
    ? (run.error?.message ?? null)
    : await latestActivity(services.store, run, services.clock.now());
  const name = `${runName(run)}: ${STATUS_TEXT[shownStatus(run)]}`;
  return activity === null ? name : `${name}, ${line(activity)}`;
}

/** Formats counts by status, for example `2 running, 1 completed`. */
export function statusCounts(runs: readonly Run[]): string {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const text = STATUS_TEXT[shownStatus(run)];
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => `${count} ${text}`).join(', ');
}

const line = (text: string): string => oneLine(visibleText(text), MAX_LINE_LENGTH);
