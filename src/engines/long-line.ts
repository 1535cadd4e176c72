import type { EngineEnd } from '../core/ports/engine.ts';

/**
 * The type of an event whose line was too long to be read: null if the line is no event, `unknown` if its type does not come
 * first.
 */
export function longLineType(beginning: string): string | null {
  if (!beginning.startsWith('{')) return null;
  return /^\{\s*"type"\s*:\s*"([^"\\]+)"/.exec(beginning)?.[1] ?? 'unknown';
}

export const answerTooLong = (): EngineEnd => ({
  type: 'end',
  ok: false,
  // Without a text here, what was said before would stand in its place.
  answer: '(The answer is longer than 8 MiB and not shown. It is in the output of the run.)',
  error:
    'Its answer is longer than 8 MiB, which is more than Squad reads. All of it is in the output of the run (`squad log`). Ask for a shorter answer, or for one in a file.',
  code: 'OUTPUT_LIMIT',
});
