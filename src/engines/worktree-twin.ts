import { join, relative } from 'node:path';
import type { TurnInput } from '../core/ports/engine.ts';
import { fieldsOf } from './json-line.ts';
import { readProjectText } from './read-text.ts';

export type Fork = TurnInput['worktree'];

/** The same path in the user's checkout that the work tree was forked from. Null if the work tree is not a fork. */
export const twinOf = (path: string, fork: Fork): string | null =>
  fork && join(fork.repository, relative(fork.path, path));

/**
 * Nobody can trust a folder that was created for one run, so trust in the user's own checkout counts instead. It
 * counts only for a file that is identical there, because an agent may have written the file in the work tree.
 */
export function isAsTrusted(file: string, twin: string | null): boolean {
  return twin !== null && meaningOf(readProjectText(file)) === meaningOf(readProjectText(twin));
}

/** Content without the format version, because Qwen Code adds the version to a settings file that has none. */
function meaningOf(text: string): string {
  const { $version, ...settings } = fieldsOf(text) ?? {};
  return Object.keys(settings).length > 0 ? JSON.stringify(settings) : text;
}
