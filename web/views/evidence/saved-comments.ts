/** A remark on a line of a diff, until it is sent. */
export interface LineComment {
  path: string;
  line: number;
  side: 'old' | 'new';
  quote: string;
  text: string;
}

const KEY = 'squad-comments:';
const MAX_QUOTE_LENGTH = 2_000;

/** They outlive a reload of the tab, and nothing else. */
export function keptComments(run: string, storage: Pick<Storage, 'getItem'> = sessionStorage): LineComment[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(KEY + run) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isComment) : [];
  } catch {
    // Not ours, or half of it: nothing that could be sent.
    return [];
  }
}

export function keepComments(
  run: string,
  comments: readonly LineComment[],
  storage: Pick<Storage, 'setItem' | 'removeItem'> = sessionStorage,
): void {
  if (comments.length === 0) storage.removeItem(KEY + run);
  else storage.setItem(KEY + run, JSON.stringify(comments));
}

export const isSamePlace = (
  a: Pick<LineComment, 'path' | 'line' | 'side'>,
  b: Pick<LineComment, 'path' | 'line' | 'side'>,
): boolean => a.path === b.path && a.line === b.line && a.side === b.side;

/** One for each line: new words take the place of those before, no words take them away. */
export function withComment(comments: readonly LineComment[], one: LineComment): LineComment[] {
  const others = comments.filter(other => !isSamePlace(other, one));
  if (one.text.trim() === '') return others;
  return [
    ...others,
    { ...one, quote: one.quote.slice(0, MAX_QUOTE_LENGTH).toWellFormed(), text: one.text.trim() },
  ];
}

function isComment(value: unknown): value is LineComment {
  const { path, line, side, quote, text } = value as Record<string, unknown>;
  return (
    [path, quote, text].every(one => typeof one === 'string') &&
    typeof line === 'number' &&
    (side === 'old' || side === 'new')
  );
}
