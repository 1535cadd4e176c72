import { z } from 'zod';
import { InboxId, RunId, SquadId } from './ids.ts';

/**
 * `question`: the agent wants an answer, in text or as a choice. `approval`: it wants a yes or no before it does something.
 * `permission`: its engine, not the model, wants permission for one use of a tool.
 */
export const InboxKind = z.enum(['question', 'approval', 'permission']);
export type InboxKind = z.infer<typeof InboxKind>;

/** `declined`: a person refused to answer. `expired`: the deadline passed. `withdrawn`: nobody waits for the answer any more. */
export const InboxState = z.enum(['open', 'answered', 'declined', 'expired', 'withdrawn']);
export type InboxState = z.infer<typeof InboxState>;

/** Source of an answer. `run` is the run that started the asking run. */
export const AnsweredBy = z.object({
  who: z.enum(['user', 'run', 'default']),
  /** `page` (the web UI), `terminal` or the client's name. For a run its id, for a default answer null. */
  via: z.string().nullable(),
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

export const WithdrawnBecause = z.enum(['run_ended', 'call_ended', 'server_gone', 'hub_ended']);
export type WithdrawnBecause = z.infer<typeof WithdrawnBecause>;

/** One field of a form that a person can fill in. */
export const InboxField = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  type: z.enum(['text', 'number', 'boolean', 'choice', 'choices']),
  choices: z.array(z.string()),
  isRequired: z.boolean(),
  isInteger: z.boolean().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  /** Regular expression for the value; a match anywhere in it is enough. */
  pattern: z.string().optional(),
  /** Format of the value: `email`, `uri`, `date` or `date-time`. */
  format: z.string().optional(),
});
export type InboxField = z.infer<typeof InboxField>;

export const InboxItem = z.object({
  id: InboxId,
  runId: RunId,
  squadId: SquadId,
  kind: InboxKind,
  /** The MCP server or the engine's tool that asks. Null if it is the agent itself. */
  source: z.string().nullable(),
  question: z.string(),
  /** Background information for the answer, for example the command to approve. */
  details: z.string().nullable(),
  /** Choices to select from. Empty for free text. */
  choices: z.array(z.string()),
  /** Form fields of a server. Empty for a plain answer. */
  fields: z.array(InboxField),
  /** Owner of the item, who has to answer: the user, or the run that started the asking run. */
  owner: z.union([z.literal('user'), RunId]),
  /** The answer at the deadline. Null if the item expires without an answer. */
  default: z.string().nullable(),
  createdAt: z.number(),
  deadlineAt: z.number(),
  state: InboxState,
  /** Answer as text, or as JSON for a form. */
  answer: z.string().nullable(),
  answeredBy: AnsweredBy.nullable(),
  answeredAt: z.number().nullable(),
  /** Time at which the answer was delivered. Null if not delivered yet. */
  heardAt: z.number().nullable(),
  /**
   * Identifies one use of a tool that needs permission. Each use is a separate question. The part after the last dot
   * is the same for all uses with the same arguments.
   */
  useKey: z.string().optional(),
  withdrawnBecause: WithdrawnBecause.optional(),
});
export type InboxItem = z.infer<typeof InboxItem>;

/** Answers to an approval or a permission. */
export const YES = 'yes';
export const NO = 'no';
/** Allows the same use of a tool again in the same run, without another question. */
export const ALWAYS = 'always';
/** Refuses a form, in which "no" may be a valid value. */
export const DECLINE = 'decline';

export function whyWithdrawn(because: WithdrawnBecause | undefined): string {
  if (because === 'run_ended') return 'the run that asked has ended';
  if (because === 'call_ended') return 'the call that asked is over, or its server withdrew the question';
  if (because === 'server_gone') return 'the server that asked went away';
  if (because === 'hub_ended') return 'the call that asked was interrupted by the end of the hub';
  return 'nobody waits for the answer any more';
}

export function whoAnswered(by: AnsweredBy | null): string {
  if (by === null || by.who === 'default') return 'nobody';
  if (by.who === 'run') return by.via ?? 'a run';
  return by.via === null ? 'the user' : `the user (${by.via})`;
}
