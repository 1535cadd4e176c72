import { oneLine } from '../../base/one-line.ts';
import { visibleText } from '../../base/visible-text.ts';
import type { InboxItem } from '../../schema/inbox.ts';

/** In characters. What is to be allowed is shown as far as a result has room for it, and line by line. */
const ROOM = { toKnow: 300, toAllow: 1_000 };

export const ROOM_FOR_QUESTION = 600;

/** Details as a model's result has them, and how many characters of what is to be allowed are not in it. */
export function shortDetails({ kind, question, details }: Pick<InboxItem, 'kind' | 'question' | 'details'>): {
  text: string | null;
  hidden: number;
} {
  if (kind === 'question') return { text: details && oneLine(visibleText(details), ROOM.toKnow), hidden: 0 };
  const characters = [...visibleText(details ?? '')];
  const hidden =
    Math.max(0, characters.length - ROOM.toAllow) + Math.max(0, [...question].length - ROOM_FOR_QUESTION);
  if (hidden === 0) return { text: details && characters.join(''), hidden };
  const shown = characters.slice(0, ROOM.toAllow).join('');
  return { text: `${shown}… (${hidden} characters not shown: ${SEEN_WHOLE})`, hidden };
}

export const SEEN_WHOLE = '`squad inbox` or the page shows all, and only there it can be allowed';
