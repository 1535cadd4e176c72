import type { DiffPlace } from './diff-place.ts';
import { isSamePlace } from './saved-comments.ts';

/** Words on a line that nobody has said are whole. */
export interface Draft extends DiffPlace {
  text: string;
}

const KEY = 'squad-drafts:';

/** They outlive a reload of the tab, the one that was typed last is the last. */
export function keptDrafts(run: string, storage: Pick<Storage, 'getItem'> = sessionStorage): Draft[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(KEY + run) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isDraft) : [];
  } catch {
    // Not ours, or half of it.
    return [];
  }
}

/** Without words it is taken away. */
export function keepDraft(
  run: string,
  { path, line, side }: DiffPlace,
  text: string,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> = sessionStorage,
): void {
  const place = { path, line, side };
  const others = keptDrafts(run, storage).filter(other => !isSamePlace(other, place));
  const next = text === '' ? others : [...others, { ...place, text }];
  if (next.length === 0) storage.removeItem(KEY + run);
  else storage.setItem(KEY + run, JSON.stringify(next));
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
