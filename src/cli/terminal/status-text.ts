import type { RunError, RunStatus } from '../../schema/run.ts';
import { isAtReviewLimit, type ShownStatus } from '../../schema/shown-status.ts';
import type { QuietState } from '../runs/run-view.ts';
import type { Style } from './style.ts';

interface Word {
  word: string;
  paint: 'red' | 'green' | 'yellow' | 'dim' | 'bold';
}

/** What a status is called in front of people, and how it looks. */
const WORDS: Record<ShownStatus, Word> = {
  needs_you: { word: 'needs you', paint: 'yellow' },
  queued: { word: 'queued', paint: 'dim' },
  running: { word: 'running', paint: 'bold' },
  waiting_review: { word: 'in review', paint: 'yellow' },
  completed: { word: 'done', paint: 'green' },
  terminated: { word: 'terminated', paint: 'green' },
  error: { word: 'failed', paint: 'red' },
  timeout: { word: 'timeout', paint: 'red' },
  lost: { word: 'lost', paint: 'red' },
  cancelled: { word: 'cancelled', paint: 'yellow' },
  abandoned: { word: 'abandoned', paint: 'yellow' },
};

export const statusText = (status: ShownStatus): string => WORDS[status].word;
export const paintStatus = (status: ShownStatus, text: string, style: Style): string =>
  style[WORDS[status].paint](text);

/** Of a run that ended at the limit of its reviews: whether somebody still has to decide on it. Null for any other. */
export function limitWord(
  run: { status: RunStatus; error: RunError | null; needsYou: boolean },
  style: Style,
): string | null {
  if (!isAtReviewLimit(run)) return null;
  return style.yellow(run.needsYou ? WORDS.needs_you.word : 'review limit');
}

/** An end the user did not ask for and has to look into. */
export const isFailure = (status: RunStatus): boolean => WORDS[status].paint === 'red';

/** `running 2 · failed 1 · done 4`, what goes on first and what went well last. */
export function countByStatus(statuses: readonly ShownStatus[], style: Style): string {
  const order: ShownStatus[] = [
    ...(['needs_you', 'running', 'waiting_review', 'queued', 'error', 'timeout', 'lost'] as const),
    ...(['cancelled', 'abandoned', 'completed', 'terminated'] as const),
  ];
  return order
    .map(status => ({ status, count: statuses.filter(other => other === status).length }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => paintStatus(status, `${statusText(status)} ${count}`, style))
    .join(style.dim(' · '));
}

export const QUIET_WORDS: Record<QuietState, string> = {
  slow_start: 'slow start',
  silent: 'silent',
  stalled: 'stalled',
  dead: 'dead',
};

/** `silent: No sign for 61 s; its one process waiting for 41 s.` */
export const quietWords = ({ state, text }: { state: QuietState; text: string }, style: Style): string =>
  `${style.yellow(`${QUIET_WORDS[state]}:`)} ${text}`;
