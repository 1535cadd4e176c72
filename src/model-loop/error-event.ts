import { APICallError, JSONParseError, StreamProviderError, TypeValidationError } from 'ai';
import type { AgentFailure } from '../schema/agent-line.ts';
import { messageIn, parsed } from './error-body.ts';
import { failureOf } from './refused-answer.ts';

export interface ErrorEvent {
  code: AgentFailure;
  message: string;
}

/** What the SDK could not read, where it says it. */
export function unreadText(error: unknown): string | null {
  if (JSONParseError.isInstance(error)) return error.text;
  return TypeValidationError.isInstance(error) ? (JSON.stringify(error.value) ?? null) : null;
}

/** The event that says what went wrong at the other side, from what the SDK made of it; null: it is no such event. */
export function errorEventIn(error: unknown): ErrorEvent | null {
  if (StreamProviderError.isInstance(error)) return eventFrom(error.data, error.statusCode, error.message);
  if (APICallError.isInstance(error)) return eventFrom(parsed(error.responseBody ?? ''), error.statusCode);
  // In the shape of another provider: many stand in front of others, and pass on what those say.
  const text = unreadText(error);
  if (text !== null) return eventFrom(parsed(text), undefined);
  return error instanceof Error ? null : eventFrom(error, undefined, JSON.stringify(error));
}

/** The same, from the beginning of an answer of which the SDK only says that it is none. */
export const errorEventAt = (beginning: string): ErrorEvent | null =>
  eventFrom(parsed(/^data:(.*)$/m.exec(beginning)?.[1] ?? ''), undefined);

function eventFrom(
  frame: unknown,
  status: number | undefined,
  message = messageIn(frame),
): ErrorEvent | null {
  if (!message) return null;
  const kind = kindIn(frame);
  const isSaid = kind === '' || message.includes(kind);
  const code = RATE_LIMITED.test(kind)
    ? 'ENGINE_RATE_LIMITED'
    : NOT_LOGGED_IN.test(kind)
      ? 'ENGINE_NOT_LOGGED_IN'
      : failureOf(status);
  return { code, message: isSaid ? message : `${message} (${kind})` };
}

const RATE_LIMITED = /rate.?limit|overload|quota|exhausted/i;
const NOT_LOGGED_IN = /authenticat|permission|invalid_api_key/i;

/** The provider's own word for it. */
function kindIn(frame: unknown): string {
  if (typeof frame !== 'object' || frame === null) return '';
  const { error, response, type, code, status } = frame as Record<string, unknown>;
  const inner = kindIn(error ?? response);
  const own = [code, status, type].find(
    word => typeof word === 'string' && !/^(error|response\.)/.test(word),
  );
  return inner || ((own as string | undefined) ?? '');
}
