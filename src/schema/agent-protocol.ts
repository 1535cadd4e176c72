import { z } from 'zod';
import { TraceMessage } from './conversation.ts';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';

const tokens = z.number().nonnegative().nullable();

/** Why a conversation failed. */
export const AgentFailure = z.enum([
  'ENGINE_FAILED',
  'ENGINE_NOT_LOGGED_IN',
  'ENGINE_RATE_LIMITED',
  'OUTPUT_MISMATCH',
  'OUTPUT_LIMIT',
  'TURN_LIMIT',
  'INPUT_UNREADABLE',
  'SANDBOX_MISSING',
]);
export type AgentFailure = z.infer<typeof AgentFailure>;

/** Maximum length of a line in bytes. The hub does not read longer lines. */
export const MAX_AGENT_LINE_LENGTH = 8 * 1024 * 1024;

/** Output of `squad agent`: one JSON event per line, `at` in milliseconds. Standard output has nothing else. */
export const AgentLine = z.discriminatedUnion('type', [
  z.object({ at: z.number(), type: z.literal('start'), model: z.string() }),
  /** Text of the model while it is streamed, in whole lines. */
  z.object({ at: z.number(), type: z.literal('text'), text: z.string() }),
  z.object({ at: z.number(), type: z.literal('tool'), id: z.string(), name: z.string(), detail: z.string() }),
  z.object({
    at: z.number(),
    type: z.literal('tool_end'),
    id: z.string(),
    name: z.string(),
    ok: z.boolean(),
    /** Beginning of the tool's result. */
    detail: z.string(),
  }),
  /** Number of calls that have no lines of their own, because a program can make thousands. */
  z.object({ at: z.number(), type: z.literal('more_tools'), calls: z.number(), failed: z.number() }),
  z.object({ at: z.number(), type: z.literal('note'), text: z.string() }),
  /** Totals of this turn of the run so far. */
  z.object({
    at: z.number(),
    type: z.literal('usage'),
    input: tokens,
    output: tokens,
    cached: tokens,
    costUsd: tokens,
  }),
  /** A complete message. Parts that would make the line too long are cut and marked. */
  z.object({ at: z.number(), type: z.literal('message'), message: TraceMessage }),
  z.object({
    at: z.number(),
    type: z.literal('end'),
    ok: z.boolean(),
    /** Text of the answer. Empty if the answer is `structured`. */
    answer: z.string(),
    /** Arguments of `final_answer`. */
    structured: z.unknown().optional(),
    error: z.string().nullable(),
    code: AgentFailure.optional(),
  }),
]);
export type AgentLine = z.infer<typeof AgentLine>;

export const AGENT_REQUEST_FILE = 'agent-request.json';

/** Request file of `squad agent`, readable only for its user. The prompt comes on standard input. */
export const AgentRequest = z.object({
  model: ModelSpec,
  systemPrompt: z.string().nullable(),
  /** Paths of input files for the prompt: absolute, or relative to the working folder. */
  inputs: z.array(z.string()),
  /** Schema of `final_answer`, which must end the conversation. Null if the conversation ends with a text. */
  outputSchema: JsonSchema.nullable(),
  codeMode: CodeMode.nullable(),
  maxTurns: z.number().int().positive(),
  /** Values that are redacted in everything the agent prints. */
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  /** MCP endpoint with the tools of the run. Null if the run has no tools. */
  endpoint: z.object({ url: z.string(), token: z.string() }).nullable(),
  /** True if the agent ends when the hub cannot be reached, because its servers and its caller are gone then. */
  endsWithHub: z.boolean(),
  /**
   * File with the messages of the chat in the SDK's format, extended after each model turn. Input files are stored next
   * to it.
   */
  chatFile: z.string(),
  continues: z.boolean(),
});
export type AgentRequest = z.infer<typeof AgentRequest>;

const REVISION = '2026-07-28';

/** HTTP request of Squad's own agents to the endpoint of their run. */
export function agentCall(client: string, token: string, method: string, params: Record<string, unknown>) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  };
}

/** The JSON message in a body, which is JSON or an event stream (then the last event counts). Null for other text. */
export function lastMessage(body: string): unknown {
  const events = body
    .split(/\r?\n\r?\n/)
    .map(event =>
      event
        .split(/\r?\n/)
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice('data:'.length))
        .join('\n'),
    )
    .filter(data => data.trim() !== '');
  try {
    return JSON.parse(events.at(-1) ?? body);
  } catch {
    return null; // the body is an error in plain text
  }
}
