import type { EngineEnd } from '../core/ports/engine.ts';

/**
 * The type of an event whose line was too long to be read. Null if the line is not an event, `unknown` if its type does not come
 * first.
 */
export function longLineType(beginning: string): string | null {
  if (!beginning.startsWith('{')) return null;
  return /^\{\s*"type"\s*:\s*"([^"\\]+)"/.exec(beginning)?.[1] ?? 'unknown';
}

export const answerTooLong = (): EngineEnd => ({
  type: 'end',
  ok: false,
  // Without this text, earlier output would be taken for the answer.
  answer: '(The answer is longer than 8 MiB and not shown. It is in the output of the run.)',
  error:
    'The answer is longer than 8 MiB, which is more than Squad reads. All of it is in the output of the run (`squad log`). Ask for a shorter answer, or for one in a file.',
  code: 'OUTPUT_LIMIT',
});
