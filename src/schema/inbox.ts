import { z } from 'zod';
import { InboxId, RunId, SquadId } from './ids.ts';

/**
 * What an agent wants of a person: an answer in words or one of some choices; a yes or no before it does something; or leave for
 * one use of a tool, asked by its engine and not by the model.
 */
export const InboxKind = z.enum(['question', 'approval', 'permission']);
export type InboxKind = z.infer<typeof InboxKind>;

/** `declined`: a person was asked and will not answer. `expired`: its time was up. `withdrawn`: whoever asked is gone. */
export const InboxState = z.enum(['open', 'answered', 'declined', 'expired', 'withdrawn']);
export type InboxState = z.infer<typeof InboxState>;

/** Who answered, and over what: a person at the page, in a terminal or by a client; a lead that started the asker. */
export const AnsweredBy = z.object({
  who: z.enum(['user', 'run', 'default']),
  /** `page`, `terminal`, or the client's name; of a run its id; null for a default. */
  via: z.string().nullable(),
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

/** Why nobody waits for an answer any more. */
export const WithdrawnBecause = z.enum(['run_ended', 'call_ended', 'server_gone', 'hub_ended']);
export type WithdrawnBecause = z.infer<typeof WithdrawnBecause>;

/** One field of a form, as far as a person can be asked for it. */
export const InboxField = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  type: z.enum(['text', 'number', 'boolean', 'choice', 'choices']),
  choices: z.array(z.string()),
  isRequired: z.boolean(),
  /** A number without a fraction. */
  isInteger: z.boolean().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  /** A regular expression that the text must match somewhere. */
  pattern: z.string().optional(),
  /** What kind of text: `email`, `uri`, `date`, `date-time`. */
  format: z.string().optional(),
});
export type InboxField = z.infer<typeof InboxField>;

export const InboxItem = z.object({
  id: InboxId,
  runId: RunId,
  squadId: SquadId,
  kind: InboxKind,
  /** Who asks, beside the run: the MCP server or the engine's tool; null: the agent itself. */
  source: z.string().nullable(),
  question: z.string(),
  /** What to know before answering: the command or the arguments an approval is for. */
  details: z.string().nullable(),
  /** Empty: any words will do. */
  choices: z.array(z.string()),
  /** Of a server's form; empty: a plain answer. */
  fields: z.array(InboxField),
  /** The user, or the run that started the asker. */
  owner: z.union([z.literal('user'), RunId]),
  /** What counts as the answer when the time is up; null: that nobody answered. */
  default: z.string().nullable(),
  createdAt: z.number(),
  deadlineAt: z.number(),
  state: InboxState,
  /** Of a form: JSON. */
  answer: z.string().nullable(),
  answeredBy: AnsweredBy.nullable(),
  answeredAt: z.number().nullable(),
  /** When it was certain that the asker has been told; null: it may still have to be. */
  heardAt: z.number().nullable(),
  /** Of what is asked for one use of a tool: which. Another use is another question, however alike they look. */
  useKey: z.string().optional(),
  withdrawnBecause: WithdrawnBecause.optional(),
});
export type InboxItem = z.infer<typeof InboxItem>;

/** What an approval or a permission is answered with. */
export const YES = 'yes';
export const NO = 'no';
/** What a form is refused with: a no may be a value of it. */
export const DECLINE = 'decline';

export function whyWithdrawn(because: WithdrawnBecause | undefined): string {
  if (because === 'run_ended') return 'the run that asked has ended';
  if (because === 'call_ended') return 'the call it was asked in is over, or its server took it back';
  if (because === 'server_gone') return 'the server that asked went away';
  if (because === 'hub_ended') return 'the call it was asked in broke off with the hub';
  return 'whoever asked is gone';
}

export function whoAnswered(by: AnsweredBy | null): string {
  if (by === null || by.who === 'default') return 'nobody';
  if (by.who === 'run') return by.via ?? 'a run';
  return by.via === null ? 'the user' : `the user (${by.via})`;
}
