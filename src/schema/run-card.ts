import { z } from 'zod';
import { RunId, SquadId } from './ids.ts';
import { RunError, RunStatus, Usage } from './run.ts';
import { SandboxLevel } from './sandbox.ts';

/** How much attention a run needs, highest level first. Lists of runs for people are sorted by it. */
export const Need = z.enum(['needs_you', 'failed', 'running', 'queued', 'done']);
export type Need = z.infer<typeof Need>;

/**
 * State of an ended run's own branch. `ready` means that the branch has work that its base branch does not have.
 * `merged` means that the base branch has all commits of the branch.
 */
export const BranchState = z.enum(['ready', 'merged']);
export type BranchState = z.infer<typeof BranchState>;

/** A running run without activity. */
export const Quiet = z.object({
  state: z.enum(['slow_start', 'silent', 'stalled', 'dead', 'away']),
  since: z.number(),
  text: z.string(),
});
export type Quiet = z.infer<typeof Quiet>;

/** A run in a list. Small enough to be sent as a whole whenever it changes. */
export const RunCard = z.object({
  id: RunId,
  squadId: SquadId,
  parentId: RunId.nullable(),
  reviewOf: RunId.nullable(),
  lineageId: RunId,
  roleId: z.string().nullable(),
  subagent: z.string().nullable(),
  engine: z.string(),
  model: z.string().nullable(),
  /** Title in one short line. */
  title: z.string(),
  workspace: z.string(),
  branch: z.string().nullable(),
  /** Null if the run has not ended, has no branch of its own, or has nothing to merge. */
  branchState: BranchState.nullable(),
  sandbox: SandboxLevel,
  /** Machine of the run. Null means the hub's own machine. */
  machine: z.string().nullable(),
  /** Name of the hub of the run, if several hubs use the database. Null if there is only one. */
  hub: z.string().nullable(),
  status: RunStatus,
  need: Need,
  /** Number of open inbox items. */
  asks: z.number(),
  /** The oldest open item, as one line. */
  asking: z
    .object({
      id: z.string(),
      kind: z.string(),
      question: z.string(),
      /** True if the item has details to read before answering. */
      hasDetails: z.boolean(),
      choices: z.array(z.string()),
    })
    .nullable(),
  quiet: Quiet.nullable(),
  isStopping: z.boolean(),
  error: RunError.nullable(),
  /** Last activity of a running run. */
  activity: z.object({ text: z.string(), at: z.number() }).nullable(),
  turn: z.number(),
  /** When the run continues that waits for a usage limit. Null if it does not wait for one. */
  limitedUntil: z.number().nullable(),
  usage: Usage.nullable(),
  /** Number of changed lines. Null until the end of the run, or if unknown. */
  lines: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  verdict: z.enum(['verified', 'claimed', 'empty', 'contradicted']).nullable(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
});
export type RunCard = z.infer<typeof RunCard>;
