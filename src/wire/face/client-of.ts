import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Call, LogMessage } from './face.ts';

/** The client behind one call, for whoever has to ask it something before it can answer. */
export interface ClientOfCall {
  capabilities: Readonly<Record<string, unknown>>;
  /** Sampling, elicitation, roots; rejects if the client never said that it can answer. */
  ask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Log messages, from the level the client chose upwards; nothing else is passed on. */
  tell(method: string, params: Record<string, unknown>): void;
}

const QUESTIONS = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
} as const;

/** People answer these. Whoever asked may give up sooner, with its signal. */
const LONGEST_WAIT_MS = 30 * 60_000;

/** Null for modern clients, which are asked by way of the answer. What is asked goes out on the call's own stream. */
export function clientOf(call: Call): ClientOfCall | null {
  if (call.era === 'modern') return null;
  const { mcpReq } = call.raw;
  return {
    capabilities: { ...call.capabilities },
    async ask(method, params, signal) {
      if (!isQuestion(method) || !call.capabilities[QUESTIONS[method]]) {
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `The client does not answer ${method}`);
      }
      const either = AbortSignal.any([signal, call.signal]);
      return mcpReq.send({ method, params }, { signal: either, timeout: LONGEST_WAIT_MS });
    },
    tell(method, params) {
      const { level, data, logger } = params as Partial<LogMessage>;
      if (method !== 'notifications/message' || level === undefined) return;
      mcpReq.log(level, data, logger).catch(() => {});
    },
  };
}

const isQuestion = (method: string): method is keyof typeof QUESTIONS => Object.hasOwn(QUESTIONS, method);
