import { z } from 'zod';
import { RunId, SquadId } from './ids.ts';
import { RunError, RunStatus, Usage } from './run.ts';

/** How much a run wants somebody to look at it, most first: the order of every list of runs for people. */
export const Need = z.enum(['needs_you', 'failed', 'running', 'queued', 'done']);
export type Need = z.infer<typeof Need>;

/** A run at work that gives no sign, and since when. */
export const Quiet = z.object({
  state: z.enum(['slow_start', 'silent', 'stalled', 'dead']),
  since: z.number(),
  text: z.string(),
});
export type Quiet = z.infer<typeof Quiet>;

/** A run in a list: small enough to be sent whole whenever anything of it changes. */
export const RunCard = z.object({
  id: RunId,
  squadId: SquadId,
  parentId: RunId.nullable(),
  reviewOf: RunId.nullable(),
  lineageId: RunId,
  roleId: z.string().nullable(),
  /** The one it is a call of. */
  subagent: z.string().nullable(),
  engine: z.string(),
  model: z.string().nullable(),
  /** On one short line. */
  title: z.string(),
  workspace: z.string(),
  branch: z.string().nullable(),
  status: RunStatus,
  need: Need,
  /** Open items of the inbox. */
  asks: z.number(),
  /** The oldest of those, on one line. */
  asking: z
    .object({
      id: z.string(),
      kind: z.string(),
      question: z.string(),
      /** There is more to read before an answer is given. */
      hasDetails: z.boolean(),
      choices: z.array(z.string()),
    })
    .nullable(),
  quiet: Quiet.nullable(),
  /** It is being stopped. */
  isStopping: z.boolean(),
  error: RunError.nullable(),
  /** What it did last, while it is at work. */
  activity: z.object({ text: z.string(), at: z.number() }).nullable(),
  turn: z.number(),
  usage: Usage.nullable(),
  /** Lines of its work; null until its end, or where it cannot be told. */
  lines: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  verdict: z.enum(['verified', 'claimed', 'empty', 'contradicted']).nullable(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
});
export type RunCard = z.infer<typeof RunCard>;
