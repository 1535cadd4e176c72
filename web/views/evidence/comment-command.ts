import type { LineComment } from './saved-comments.ts';

/** The same in a terminal. */
export function commentCommand(run: string, comments: readonly LineComment[], message = ''): string {
  const words = message.trim() === '' ? [] : ['-m', quoted(message.trim())];
  const places = comments.flatMap(({ path, line, text }) => [quoted(`${path}:${line}`), quoted(text)]);
  return ['squad comment', run, ...words, ...places].join(' ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
