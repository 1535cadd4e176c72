import { z } from 'zod';
import { InboxId, RunId, SquadId } from './ids.ts';

/**
 * What an agent wants of a person: an answer in words or one of some choices; a yes or no before it does something; or leave for
 * one use of a tool, asked by its engine and not by the model.
 */
export const InboxKind = z.enum(['question', 'approval', 'permission']);
export type InboxKind = z.infer<typeof InboxKind>;

/** `expired`: its time was up. `withdrawn`: whoever asked is gone. */
export const InboxState = z.enum(['open', 'answered', 'expired', 'withdrawn']);
export type InboxState = z.infer<typeof InboxState>;

/** Who answered, and over what: a person at the page, in a terminal or by a client; a lead that started the asker. */
export const AnsweredBy = z.object({
  who: z.enum(['user', 'run', 'default']),
  /** `page`, `terminal`, or the client's name; of a run its id; null for a default. */
  via: z.string().nullable(),
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

/** One field of a form, as far as a person can be asked for it. */
export const InboxField = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  type: z.enum(['text', 'number', 'boolean', 'choice', 'choices']),
  choices: z.array(z.string()),
  isRequired: z.boolean(),
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
  /** When the asker was told; null: it still has to be. */
  heardAt: z.number().nullable(),
});
export type InboxItem = z.infer<typeof InboxItem>;

/** What an approval or a permission is answered with. */
export const YES = 'yes';
export const NO = 'no';

export function whoAnswered(by: AnsweredBy | null): string {
  if (by === null || by.who === 'default') return 'nobody';
  if (by.who === 'run') return by.via ?? 'a run';
  return by.via === null ? 'the user' : `the user (${by.via})`;
}
