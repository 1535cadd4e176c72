import type { DiffFile } from './parse-diff.ts';

const KEY = 'squad-viewed:';

/** Path and content hash of each viewed file. A file that has changed since no longer counts as viewed. */
export type ViewedFiles = ReadonlyMap<string, string>;

/** Marks survive a reload of the tab. */
export function loadViewed(name: string | null): ViewedFiles {
  if (name === null) return new Map();
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY + name) ?? '[]');
    return new Map(Array.isArray(stored) ? stored.filter(isEntry) : []);
  } catch {
    // Another program wrote the value, so nothing is restored.
    return new Map();
  }
}

export function saveViewed(name: string | null, viewed: ViewedFiles): void {
  if (name !== null) sessionStorage.setItem(KEY + name, JSON.stringify([...viewed]));
}

const isEntry = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(part => typeof part === 'string');

/** Hash of a file's changes (FNV-1a), to notice that they differ from the viewed ones. */
export function contentMark({ hunks, change, modes }: DiffFile): string {
  let hash = 0x811c9dc5;
  const add = (text: string) => {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  };
  add(`${change} ${modes}`);
  // Unchanged lines do not count, because their number depends on the chosen context.
  for (const { kind, oldLine, newLine, text } of hunks.flatMap(({ lines }) => lines))
    if (kind !== 'same') add(`${kind[0]}${oldLine ?? ''} ${newLine ?? ''} ${text}`);
  return (hash >>> 0).toString(36);
}
