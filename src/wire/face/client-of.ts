import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Call, LogMessage } from './face.ts';

/** The client behind one call, for code that must ask it something before it can answer. */
export interface ClientOfCall {
  capabilities: Readonly<Record<string, unknown>>;
  /** Sends a sampling, elicitation or roots request. Rejects if the client has not declared the capability. */
  ask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Sends log messages at or above the level that the client set. Other notifications are dropped. */
  tell(method: string, params: Record<string, unknown>): void;
}

const QUESTIONS = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
} as const;

/** Long timeout, because a person may have to answer. The caller can abort sooner with its signal. */
const ANSWER_TIMEOUT_MS = 30 * 60_000;

/**
 * Null for modern clients: they get questions in the result. Questions to legacy clients are sent on the stream of the
 * call.
 */
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
      return mcpReq.send({ method, params }, { signal: either, timeout: ANSWER_TIMEOUT_MS });
    },
    tell(method, params) {
      const { level, data, logger } = params as Partial<LogMessage>;
      if (method !== 'notifications/message' || level === undefined) return;
      mcpReq.log(level, data, logger).catch(() => {});
    },
  };
}

const isQuestion = (method: string): method is keyof typeof QUESTIONS => Object.hasOwn(QUESTIONS, method);

/** How long a client waits for the result of one tool call. */
interface ClientTimeouts {
  name: RegExp;
  /** Time limit of a call that reports progress. Null if there is no limit as long as progress arrives. */
  withProgress: number | null;
  silent: number;
  silentHttp?: number;
}

const SECOND = 1000;
/**
 * Timeout for clients that are not listed. Most use an SDK that gives up on a call after 60 seconds and ignores
 * progress.
 */
const UNKNOWN = 45 * SECOND;

const CLIENTS: ClientTimeouts[] = [
  // Claude Code ends a silent call after 30 minutes; over HTTP after 60 seconds without a first byte of the answer.
  { name: /^claude[- ]code\b/i, withProgress: null, silent: 1620 * SECOND, silentHttp: UNKNOWN },
  { name: /^codex\b/i, withProgress: 270 * SECOND, silent: 270 * SECOND },
  { name: /^gemini-cli\b/i, withProgress: 540 * SECOND, silent: 540 * SECOND },
  // Qwen Code has two limits: 600 seconds in total, and 300 seconds without progress.
  { name: /^qwen-(cli|code)\b/i, withProgress: 540 * SECOND, silent: 270 * SECOND },
  // Copilots of other hosts (JetBrains, Xcode) have other names and unknown timeouts.
  { name: /^(github-copilot-(developer|cli)|copilot-cli)\b/i, withProgress: null, silent: 162 * SECOND },
  { name: /^opencode\b/i, withProgress: null, silent: UNKNOWN },
  // The MCP Inspector waits as long as progress arrives; before version 2 it gave up after 60 seconds regardless.
  { name: /^mcp-inspector\b/i, withProgress: null, silent: UNKNOWN },
  { name: /^inspector-(client|cli)\b/i, withProgress: 54 * SECOND, silent: UNKNOWN },
];

export interface Waiter {
  /** The name that the client reports. */
  clientName: string | null;
  transport: 'stream' | 'http';
  /** Whether the client asked for progress. Otherwise it gets no heartbeats. */
  wantsProgress: boolean;
  /** `MCP_TOOL_TIMEOUT` in the client's environment: a hard limit in milliseconds, set by the user. */
  toolTimeout?: string;
}

/** Milliseconds within which a call must be answered. Null if heartbeats are enough to keep it open. */
export function waitCeilingMs(waiter: Waiter): number | null {
  const chosen = Number(waiter.toolTimeout);
  if (waiter.toolTimeout?.trim() && Number.isFinite(chosen) && chosen > 0) return Math.floor(chosen * 0.9);
  const client = CLIENTS.find(({ name }) => name.test(waiter.clientName ?? ''));
  if (!client) return UNKNOWN;
  if (waiter.wantsProgress) return client.withProgress;
  return (waiter.transport === 'http' ? client.silentHttp : undefined) ?? client.silent;
}
