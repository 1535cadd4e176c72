import { oneLine } from '../../base/one-line.ts';
import { visibleText } from '../../base/visible-text.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-name.ts';
import { type ShownStatus, shownStatus } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';
import { latestActivity } from './run-activity.ts';

const LONGEST = 200;

const WORDS: Record<ShownStatus, string> = {
  needs_you: 'needs your decision',
  queued: 'queued',
  running: 'running',
  waiting_review: 'in review',
  completed: 'completed',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
  lost: 'lost',
  terminated: 'ended',
  abandoned: 'abandoned',
};

/** Where runs stand, in one line for the person in front of a client. */
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
  const name = `${runName(run)}: ${WORDS[shownStatus(run)]}`;
  return activity === null ? name : `${name}, ${line(activity)}`;
}

/** `2 running, 1 completed`. */
export function statusCounts(runs: readonly Run[]): string {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const words = WORDS[shownStatus(run)];
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].map(([words, count]) => `${count} ${words}`).join(', ');
}

const line = (text: string): string => oneLine(visibleText(text), LONGEST);
