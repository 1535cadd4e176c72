import type { EngineEvent } from '../core/ports/engine.ts';

/**
 * Returns a note if the message says that the answer is incomplete. Some CLIs report that only in a message or stop
 * reason.
 */
export function cutOffNote(message: string | null): EngineEvent[] {
  if (message === null) return [];
  const text = OUTPUT_LIMIT.test(message)
    ? CUT_OFF_AT_LIMIT
    : FILTERED.test(message)
      ? 'Part of an answer is missing: the provider stopped it (content filter), or the model refused.'
      : null;
  return text === null ? [] : [{ type: 'note', text, isForResult: true }];
}

export const CUT_OFF_AT_LIMIT = "Part of an answer may be missing: it reached the model's output limit.";

const OUTPUT_LIMIT =
  /output token (?:limit|maximum)|max(?:imum)?[_ -]?(?:output[_ -])?tokens|exceeded the token limit|^length$/i;
const FILTERED =
  /content[_ -]filter|safety (?:classifier|settings|filter)|safeguards (?:stopped|flagged)|prohibited content|^refusal$/i;
