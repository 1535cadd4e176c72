import { shellWord } from '../../../src/schema/shell-word.ts';
import type { LineComment } from './saved-comments.ts';

/** Terminal command that sends the same comments. */
export function commentCommand(run: string, comments: readonly LineComment[], message = ''): string {
  const option = message.trim() === '' ? [] : ['-m', shellWord(message.trim())];
  const places = comments.flatMap(({ path, line, text }) => [shellWord(`${path}:${line}`), shellWord(text)]);
  return ['squad comment', run, ...option, ...places].join(' ');
}
