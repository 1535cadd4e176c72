import { join, relative } from 'node:path';
import type { TurnInput } from '../core/ports/engine.ts';
import { fieldsOf } from './json-line.ts';
import { readProjectText } from './read-text.ts';

export type Fork = TurnInput['worktree'];

/** Where a path of a work tree is in the checkout of the user it was forked from; null: it is in none. */
export const twinOf = (path: string, fork: Fork): string | null =>
  fork && join(fork.repository, relative(fork.path, path));

/**
 * Nobody can trust a folder that is made for one run, so what the user said of their own counts. But only for what is the
 * same there: an agent may have written this one.
 */
export function isAsTrusted(file: string, twin: string | null): boolean {
  return twin !== null && meaningOf(readProjectText(file)) === meaningOf(readProjectText(twin));
}

/** Qwen Code writes a settings file anew, with a version of its format, whenever it finds one without. */
function meaningOf(text: string): string {
  const { $version, ...settings } = fieldsOf(text) ?? {};
  return Object.keys(settings).length > 0 ? JSON.stringify(settings) : text;
}
