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
const MAX_WAIT_MS = 30 * 60_000;

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
      return mcpReq.send({ method, params }, { signal: either, timeout: MAX_WAIT_MS });
    },
    tell(method, params) {
      const { level, data, logger } = params as Partial<LogMessage>;
      if (method !== 'notifications/message' || level === undefined) return;
      mcpReq.log(level, data, logger).catch(() => {});
    },
  };
}

const isQuestion = (method: string): method is keyof typeof QUESTIONS => Object.hasOwn(QUESTIONS, method);

/** How long a client lets one tool call go on, and so how long we may keep it waiting for a result. */
interface Patience {
  name: RegExp;
  /** Null: as long as progress keeps arriving, it waits. */
  withProgress: number | null;
  silent: number;
  silentHttp?: number;
}

const SECOND = 1000;
/** Most clients are built on an SDK that gives up after 60 seconds and takes no notice of progress. */
const UNKNOWN = 45 * SECOND;

const CLIENTS: Patience[] = [
  // Ends a silent call after 30 minutes; over HTTP after 60 seconds if not one byte of the answer has come.
  { name: /^claude[- ]code\b/i, withProgress: null, silent: 1620 * SECOND, silentHttp: UNKNOWN },
  { name: /^codex\b/i, withProgress: 270 * SECOND, silent: 270 * SECOND },
  { name: /^gemini-cli\b/i, withProgress: 540 * SECOND, silent: 540 * SECOND },
  // A limit of 600 seconds that progress does not move, and one of 300 seconds that it does.
  { name: /^qwen-(cli|code)\b/i, withProgress: 540 * SECOND, silent: 270 * SECOND },
  // Copilots of other hosts (JetBrains, Xcode) have other names, and their patience is not known.
  { name: /^(github-copilot-(developer|cli)|copilot-cli)\b/i, withProgress: null, silent: 162 * SECOND },
  { name: /^opencode\b/i, withProgress: null, silent: UNKNOWN },
  // The Inspector waits as long as progress arrives; before version 2 it gave up after 60 seconds even so.
  { name: /^mcp-inspector\b/i, withProgress: null, silent: UNKNOWN },
  { name: /^inspector-(client|cli)\b/i, withProgress: 54 * SECOND, silent: UNKNOWN },
];

export interface Waiter {
  /** As the client calls itself. */
  clientName: string | null;
  transport: 'stream' | 'http';
  /** Whether the client asked for progress, so that heartbeats reach it. */
  wantsProgress: boolean;
  /** `MCP_TOOL_TIMEOUT` of the client's environment, in milliseconds: a hard limit the user chose. */
  toolTimeout?: string;
}

/** The most milliseconds a call may take before it must answer; null when heartbeats are enough. */
export function waitCeilingMs(waiter: Waiter): number | null {
  const chosen = Number(waiter.toolTimeout);
  if (waiter.toolTimeout?.trim() && Number.isFinite(chosen) && chosen > 0) return Math.floor(chosen * 0.9);
  const client = CLIENTS.find(({ name }) => name.test(waiter.clientName ?? ''));
  if (!client) return UNKNOWN;
  if (waiter.wantsProgress) return client.withProgress;
  return (waiter.transport === 'http' ? client.silentHttp : undefined) ?? client.silent;
}
