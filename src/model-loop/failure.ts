import { APICallError } from 'ai';
import type { AgentFailure } from '../schema/agent-line.ts';
import { Ending } from './ending.ts';

export interface Failure {
  code: AgentFailure;
  message: string;
}

/** Why a conversation failed, in the words of whoever refused. `host`: who was asked, where that was a provider. */
export function failureFrom(thrown: unknown, host: string | null): Failure {
  if (APICallError.isInstance(thrown)) return refusal(thrown, host);
  const code = thrown instanceof Ending ? thrown.code : 'ENGINE_FAILED';
  const message = wordsOf(thrown);
  return { code, message: host === null ? message : `${host}: ${message}` };
}

function refusal({ statusCode, message, responseBody, cause }: APICallError, host: string | null): Failure {
  const said = message || responseBody?.trim().slice(0, LONGEST) || wordsOf(cause);
  const who = host ?? 'The provider';
  if (statusCode === undefined)
    return { code: 'ENGINE_FAILED', message: `${who} could not be asked: ${said}` };
  // Read, and not understood: the status says nothing.
  if (statusCode < 300) return { code: 'ENGINE_FAILED', message: `${who}: ${said}` };
  return { code: CODES[statusCode] ?? 'ENGINE_FAILED', message: `${who} answered ${statusCode}: ${said}` };
}

const LONGEST = 2000;
const CODES: Record<number, AgentFailure> = {
  401: 'ENGINE_NOT_LOGGED_IN',
  403: 'ENGINE_NOT_LOGGED_IN',
  429: 'ENGINE_RATE_LIMITED',
};

/** With what was behind it, where that says more. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error))
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown)).slice(0, LONGEST);
  const own = thrown.message || thrown.name;
  return thrown.cause instanceof Error ? `${own}: ${wordsOf(thrown.cause)}` : own;
}
