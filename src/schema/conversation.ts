import { z } from 'zod';
import { RunId } from './ids.ts';

/** Only of what a program called: which call of the model's ran the program, and when it was. */
const inProgram = { within: z.string().optional(), at: z.number().optional() };

/** A piece of what was said in a conversation with a model. Files are named, never held: they are where they were. */
export const TracePart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z.object({
    type: z.literal('file'),
    name: z.string(),
    mediaType: z.string(),
    bytes: z.number(),
    /** Which content it had then: the file may be another by now. */
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
  /** What the program called beyond what is kept of one. */
  z.object({ type: z.literal('more_calls'), within: z.string(), calls: z.number(), failed: z.number() }),
]);
export type TracePart = z.infer<typeof TracePart>;

/** `program`: what a program of the model's called and got. The model is not told of it but by the program. */
export const TraceRole = z.enum(['system', 'user', 'assistant', 'tool', 'program']);
export type TraceRole = z.infer<typeof TraceRole>;

/** One message of a conversation, as the agent that holds it writes it down. */
export const TraceMessage = z.object({
  /** Unique everywhere: `msg_` and ten letters. */
  id: z.string(),
  /** The message before it; null for the first of a chat. Of a program, the message that called for it: nothing comes after it. */
  parentId: z.string().nullable(),
  role: TraceRole,
  content: z.array(TracePart),
  at: z.number(),
});
export type TraceMessage = z.infer<typeof TraceMessage>;

/** The same as it is kept: of which run, and under what label. */
export const StoredMessage = TraceMessage.extend({
  runId: RunId,
  /** `subagent:<name>:<run id>`, or `run:<run id>` for a run of the native engine that is no subagent. */
  label: z.string(),
});
export type StoredMessage = z.infer<typeof StoredMessage>;

/** The engine whose runs are conversations. */
export const NATIVE = 'native';

export const traceLabel = (runId: string, subagent: string | null): string =>
  subagent === null ? `run:${runId}` : `subagent:${subagent}:${runId}`;

/** The subagent that such a label names. Names have no colon in them. */
export const subagentOfLabel = (label: string): string | null =>
  /^subagent:([^:]+):/.exec(label)?.[1] ?? null;
