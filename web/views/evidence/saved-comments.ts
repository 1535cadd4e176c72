import type { DiffPlace } from './diff-place.ts';

/** A comment on a line of a diff that has not been sent. */
export interface LineComment extends DiffPlace {
  quote: string;
  text: string;
}

/** Text typed for a line that has not been saved as a comment. */
export interface Draft extends DiffPlace {
  text: string;
}

type Reader = Pick<Storage, 'getItem'>;
type Writer = Pick<Storage, 'setItem' | 'removeItem'>;

const COMMENTS_KEY = 'squad-comments:';
const DRAFTS_KEY = 'squad-drafts:';
const MAX_QUOTE_LENGTH = 2_000;

/** Stored comments; they survive a reload of the tab, but not closing it. */
export const loadComments = (run: string, storage: Reader = sessionStorage): LineComment[] =>
  load(COMMENTS_KEY + run, isComment, storage);

export const saveComments = (
  run: string,
  comments: readonly LineComment[],
  storage: Writer = sessionStorage,
): void => save(COMMENTS_KEY + run, comments, storage);

/** Loads the drafts of comments, in the order in which they were last edited. Drafts survive a reload of the tab. */
export const loadDrafts = (run: string, storage: Reader = sessionStorage): Draft[] =>
  load(DRAFTS_KEY + run, isDraft, storage);

/** Saves a draft. An empty text removes it. */
export function saveDraft(
  run: string,
  { path, line, side }: DiffPlace,
  text: string,
  storage: Reader & Writer = sessionStorage,
): void {
  const place = { path, line, side };
  const others = loadDrafts(run, storage).filter(other => !isSamePlace(other, place));
  save(DRAFTS_KEY + run, text === '' ? others : [...others, { ...place, text }], storage);
}

export const isSamePlace = (a: DiffPlace, b: DiffPlace): boolean =>
  a.path === b.path && a.line === b.line && a.side === b.side;

/**
 * Sets the comment of a line. Each line has one comment: a new text replaces the old one, and an empty text removes
 * it.
 */
export function withComment(comments: readonly LineComment[], one: LineComment): LineComment[] {
  const others = comments.filter(other => !isSamePlace(other, one));
  if (one.text.trim() === '') return others;
  return [
    ...others,
    { ...one, quote: one.quote.slice(0, MAX_QUOTE_LENGTH).toWellFormed(), text: one.text.trim() },
  ];
}

function load<T>(key: string, isValid: (value: unknown) => value is T, storage: Reader): T[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(key) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isValid) : [];
  } catch {
    // Another program wrote the value, or it is incomplete, so nothing is restored.
    return [];
  }
}

function save(key: string, items: readonly unknown[], storage: Writer): void {
  if (items.length === 0) storage.removeItem(key);
  else storage.setItem(key, JSON.stringify(items));
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null) return false;
  const { path, line, side, text } = value as Record<string, unknown>;
  return (
    typeof path === 'string' &&
    typeof text === 'string' &&
    typeof line === 'number' &&
    (side === 'old' || side === 'new')
  );
}

const isComment = (value: unknown): value is LineComment =>
  isDraft(value) && typeof (value as Partial<LineComment>).quote === 'string';
