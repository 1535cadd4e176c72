import type { EngineFailure } from '../core/ports/engine.ts';

/** Classifies a failure by the HTTP status of the API or the CLI's message. */
export function failureKind(message: string, status: number | null = statusIn(message)): EngineFailure {
  if (status === 429 || status === OVERLOADED || RATE_LIMITED.test(message)) return 'ENGINE_RATE_LIMITED';
  if (status === 401 || status === 403 || NOT_LOGGED_IN.test(message)) return 'ENGINE_NOT_LOGGED_IN';
  if (UNKNOWN_CHAT.test(message)) return 'CHAT_UNKNOWN';
  return 'ENGINE_FAILED';
}

/** Anthropic's status for an overloaded service. */
const OVERLOADED = 529;
const RATE_LIMITED =
  /rate.?limit|usage limit|hit your (?:[\w-]+ )?limit|too many requests|(?<![a-z])overloaded(?![a-z])|quota (?:was )?exceeded|exceeded your current quota/i;
const NOT_LOGGED_IN =
  /not logged in|authentication required|please run \/login|(?:invalid|incorrect) (?:x-)?api.?key|missing (?:(?:an? |the )?api.?key|credentials)|api.?key (?:environment variable )?(?:is )?(?:missing|required|not (?:set|found|provided|configured|valid))|no api key|missing environment variable|no auth(?:entication)? (?:type|method)|log ?in (?:required|first)/i;
const UNKNOWN_CHAT =
  /no (?:conversation|rollout|saved session|session)s? (?:was )?found (?:with|for)|session .{0,80} not found|does not match any session/i;

/** Finds an HTTP status in a message, if the text calls the number a status. */
function statusIn(message: string): number | null {
  const found = /(?:status|error|code|http|answered)\D{0,12}\b([45]\d\d)\b|^\s*([45]\d\d)\b/i.exec(message);
  return found ? Number(found[1] ?? found[2]) : null;
}

/**
 * Text such as ` in 30 s` for the end of a sentence about a retry. Empty if the retry is immediate or its time
 * unknown.
 */
export const waitText = (waitMs: number | null): string =>
  waitMs === null || waitMs < 1_000 ? '' : ` in ${Math.round(waitMs / 1_000)} s`;
