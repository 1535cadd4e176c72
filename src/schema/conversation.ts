import { z } from 'zod';
import { RunId } from './ids.ts';

/** Fields of a tool call made by a program in code mode: the id of the model's call that ran the program, and the time. */
const inProgram = { within: z.string().optional(), at: z.number().optional() };

/** Part of a message. Files are only named; their content is not stored here. */
export const TracePart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z.object({
    type: z.literal('file'),
    name: z.string(),
    mediaType: z.string(),
    bytes: z.number(),
    /** Hash of the content when the file was added. The file may have changed since. */
    sha256: z.string().optional(),
  }),
  z.object({
    type: z.literal('tool_call'),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
    ...inProgram,
  }),
  z.object({
    type: z.literal('tool_result'),
    id: z.string(),
    name: z.string(),
    output: z.unknown(),
    isError: z.boolean(),
    ...inProgram,
  }),
  /** Number of calls of a program that were not recorded. */
  z.object({ type: z.literal('more_calls'), within: z.string(), calls: z.number(), failed: z.number() }),
]);
export type TracePart = z.infer<typeof TracePart>;

/** `program`: calls and results of a program. The model sees only what the program prints and returns. */
export const TraceRole = z.enum(['system', 'user', 'assistant', 'tool', 'program']);
export type TraceRole = z.infer<typeof TraceRole>;

/** One message of a conversation, as the agent recorded it. */
export const TraceMessage = z.object({
  /** Globally unique id of the message: `msg_` and ten letters. */
  id: z.string(),
  /**
   * Id of the previous message. Null for the first one. For role `program`, the message that ran the program; such
   * messages are never parents.
   */
  parentId: z.string().nullable(),
  role: TraceRole,
  content: z.array(TracePart),
  at: z.number(),
});
export type TraceMessage = z.infer<typeof TraceMessage>;

export const StoredMessage = TraceMessage.extend({
  runId: RunId,
  /**
   * Label of the conversation: `subagent:<name>:<run id>`, or `run:<run id>` for a run of the native engine without a
   * subagent.
   */
  label: z.string(),
});
export type StoredMessage = z.infer<typeof StoredMessage>;

/** Id of the engine whose runs have conversations. */
export const NATIVE = 'native';

export const traceLabel = (runId: string, subagent: string | null): string =>
  subagent === null ? `run:${runId}` : `subagent:${subagent}:${runId}`;

/** Name of the subagent in a trace label. Null for a label of a plain run. Subagent names contain no colon. */
export const subagentOfLabel = (label: string): string | null =>
  /^subagent:([^:]+):/.exec(label)?.[1] ?? null;
