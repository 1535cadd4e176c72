import type { QuietState } from '../runs/run-view.ts';
import type { Style } from './style.ts';

export const QUIET_WORDS: Record<QuietState, string> = {
  slow_start: 'slow start',
  silent: 'silent',
  stalled: 'stalled',
  dead: 'dead',
};

/** `silent: No sign for 61 s; its one process waiting for 41 s.` */
export const quietWords = ({ state, text }: { state: QuietState; text: string }, style: Style): string =>
  `${style.yellow(`${QUIET_WORDS[state]}:`)} ${text}`;
