import { z } from 'zod';
import { TraceMessage } from './conversation.ts';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';

const tokens = z.number().nonnegative().nullable();

/** What kind of failure ended a conversation, where it can be told. */
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

/** In bytes: what the hub reads as one line. */
export const MAX_AGENT_LINE_LENGTH = 8 * 1024 * 1024;

/** What `squad agent` prints: JSON, one event a line, `at` in milliseconds. Nothing else is on its standard output. */
export const AgentLine = z.discriminatedUnion('type', [
  z.object({ at: z.number(), type: z.literal('start'), model: z.string() }),
  /** Words of the model while they come: a line or a paragraph at a time. */
  z.object({ at: z.number(), type: z.literal('text'), text: z.string() }),
  z.object({ at: z.number(), type: z.literal('tool'), id: z.string(), name: z.string(), detail: z.string() }),
  z.object({
    at: z.number(),
    type: z.literal('tool_end'),
    id: z.string(),
    name: z.string(),
    ok: z.boolean(),
    /** The beginning of what came back. */
    detail: z.string(),
  }),
  /** Calls that were not told one by one: a program can make thousands. */
  z.object({ at: z.number(), type: z.literal('more_tools'), calls: z.number(), failed: z.number() }),
  z.object({ at: z.number(), type: z.literal('note'), text: z.string() }),
  /** All of this turn of the run so far. */
  z.object({
    at: z.number(),
    type: z.literal('usage'),
    input: tokens,
    output: tokens,
    cached: tokens,
    costUsd: tokens,
  }),
  /** A message that is complete; what would make its line too long is cut, and says so. */
  z.object({ at: z.number(), type: z.literal('message'), message: TraceMessage }),
  z.object({
    at: z.number(),
    type: z.literal('end'),
    ok: z.boolean(),
    /** Empty where it is a value. */
    answer: z.string(),
    /** What `final_answer` was called with. */
    structured: z.unknown().optional(),
    error: z.string().nullable(),
    code: AgentFailure.optional(),
  }),
]);
export type AgentLine = z.infer<typeof AgentLine>;

export const AGENT_REQUEST_FILE = 'agent-request.json';

/** What `squad agent` is told beside its prompt, which it reads from standard input: a file that only its user can read. */
export const AgentRequest = z.object({
  model: ModelSpec,
  systemPrompt: z.string().nullable(),
  /** Files that join the prompt: absolute, or from the working folder. */
  inputs: z.array(z.string()),
  /** The model ends with `final_answer`, which takes this; null: it ends with words. */
  outputSchema: JsonSchema.nullable(),
  codeMode: CodeMode.nullable(),
  maxTurns: z.number().int().positive(),
  /** What only its provider is to see, and is in nothing it prints. */
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Where its tools are; null: it has none. */
  endpoint: z.object({ url: z.string(), token: z.string() }).nullable(),
  /** Its servers and whoever would hear its answer are gone with the hub: when that cannot be reached, it ends. */
  endsWithHub: z.boolean(),
  /** The chat's messages so far, in the SDK's own form; added to after each model turn. Files of its prompts are kept beside it. */
  chatFile: z.string(),
  continues: z.boolean(),
});
export type AgentRequest = z.infer<typeof AgentRequest>;

const REVISION = '2026-07-28';

/** A request of Squad's own agents to their run's endpoint, as it goes over HTTP. */
interface AgentCall {
  headers: Record<string, string>;
  body: string;
}

export function agentCall(
  client: string,
  token: string,
  method: string,
  params: Record<string, unknown>,
): AgentCall {
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

/** A body is the message itself, or a stream of events of which the last is; null when it is neither. */
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
    return null; // a refusal in plain words
  }
}
