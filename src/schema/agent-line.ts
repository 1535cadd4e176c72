import { z } from 'zod';
import { TraceMessage } from './conversation.ts';

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
export const LONGEST_AGENT_LINE = 8 * 1024 * 1024;

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
