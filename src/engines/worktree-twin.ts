import { join, relative } from 'node:path';
import type { TurnInput } from '../core/ports/engine.ts';
import { fieldsOf } from './json-line.ts';
import { readProjectText } from './read-text.ts';

export type Fork = TurnInput['worktree'];

/** The same path in the user's checkout that the work tree was forked from; null without a fork. */
export const twinOf = (path: string, fork: Fork): string | null =>
  fork && join(fork.repository, relative(fork.path, path));

/**
 * Nobody can trust a folder that is created for one run, so trust in the user's own checkout counts. But only for files that are
 * the same there: an agent may have written this one.
 */
export function isAsTrusted(file: string, twin: string | null): boolean {
  return twin !== null && meaningOf(readProjectText(file)) === meaningOf(readProjectText(twin));
}

/** Qwen Code rewrites a settings file without a format version and adds one. */
function meaningOf(text: string): string {
  const { $version, ...settings } = fieldsOf(text) ?? {};
  return Object.keys(settings).length > 0 ? JSON.stringify(settings) : text;
}
