import type { EngineEnd } from '../core/ports/engine.ts';

/**
 * Type of an event whose line was too long to read. Null if the line is not an event, `unknown` if the type is not
 * its first field.
 */
export function longLineType(beginning: string): string | null {
  if (!beginning.startsWith('{')) return null;
  return /^\{\s*"type"\s*:\s*"([^"\\]+)"/.exec(beginning)?.[1] ?? 'unknown';
}

export const answerTooLong = (): EngineEnd => ({
  type: 'end',
  ok: false,
  // Text in place of the answer. Without it, Squad would take earlier output for the answer.
  answer: '(The answer is longer than 8 MiB and not shown. It is in the output of the run.)',
  error:
    'The answer is longer than 8 MiB, which is more than Squad reads. All of it is in the output of the run (`squad log`). Ask for a shorter answer, or for one in a file.',
  code: 'OUTPUT_LIMIT',
});
