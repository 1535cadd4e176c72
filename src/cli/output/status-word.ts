import type { RunStatus } from '../../schema/run.ts';
import type { Style } from './style.ts';

interface Word {
  word: string;
  paint: 'red' | 'green' | 'yellow' | 'dim' | 'bold';
}

/** What a status is called in front of people, and how it looks. */
const WORDS: Record<RunStatus, Word> = {
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

export const statusWord = (status: RunStatus): string => WORDS[status].word;
export const paintStatus = (status: RunStatus, text: string, style: Style): string =>
  style[WORDS[status].paint](text);

/** An end the user did not ask for and has to look into. */
export const isFailure = (status: RunStatus): boolean => WORDS[status].paint === 'red';

/** `running 2 · failed 1 · done 4`, what goes on first and what went well last. */
export function countByStatus(statuses: RunStatus[], style: Style): string {
  const order: RunStatus[] = [
    ...(['running', 'waiting_review', 'queued', 'error', 'timeout', 'lost'] as const),
    ...(['cancelled', 'abandoned', 'completed', 'terminated'] as const),
  ];
  return order
    .map(status => ({ status, count: statuses.filter(other => other === status).length }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => paintStatus(status, `${statusWord(status)} ${count}`, style))
    .join(style.dim(' · '));
}
