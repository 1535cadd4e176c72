import { z } from 'zod';
import { RunId } from './ids.ts';
import { RunStatus } from './run.ts';

export const CheckOutcome = z.enum(['passed', 'failed', 'timeout', 'not_started', 'not_run']);

/** One branch in a plan, in the order in which they are merged. */
export const PlannedBranch = z.object({
  runId: RunId,
  name: z.string(),
  summary: z.string(),
  status: RunStatus,
  branch: z.string(),
  /** `nothing`: it is in the target already, or never had anything. `refused`: its work cannot be committed. */
  outcome: z.enum(['merges', 'conflict', 'nothing', 'refused']),
  /** The commit that merges it. */
  commit: z.string().nullable(),
  /** How many files that changes. */
  files: z.number().nullable(),
  conflicts: z.array(z.string()),
  messages: z.array(z.string()),
  /** Work that the run left uncommitted is committed to its branch first. */
  commitsWork: z.boolean(),
  /** Other runs of the plan that have changed files that this one has. */
  overlaps: z.array(RunId),
  /** It began at an older commit of the target. */
  isBehind: z.boolean(),
});
export type PlannedBranch = z.infer<typeof PlannedBranch>;

export const ChecklistItem = z.object({
  what: z.string(),
  /** `open`: nobody can say. */
  state: z.enum(['ok', 'bad', 'open']),
  note: z.string().nullable(),
});
export type ChecklistItem = z.infer<typeof ChecklistItem>;

export const IntegrationPlan = z.object({
  /** What to approve; null: there is nothing to, for the reason `blocked` gives or because nothing is left to merge. */
  planId: z.string().nullable(),
  /** Null, with all that follows from it, where no run is ready. */
  repository: z.string().nullable(),
  target: z.string().nullable(),
  /** The target's commit, and the one it goes to. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  /** The work tree that has the target checked out, whose files follow. */
  folder: z.string().nullable(),
  branches: z.array(PlannedBranch),
  leftOut: z.array(z.object({ runId: RunId, why: z.string() })),
  check: z
    .object({
      command: z.array(z.string()),
      outcome: CheckOutcome,
      exitCode: z.number().nullable(),
      output: z.string(),
      durationMs: z.number().nullable(),
    })
    .nullable(),
  checklist: z.array(ChecklistItem),
  warnings: z.array(z.string()),
  blocked: z
    .object({
      code: z.enum(['MERGE_CONFLICT', 'UNCOMMITTABLE', 'TARGET_BLOCKED', 'CHECK_FAILED']),
      message: z.string(),
      suggestions: z.array(z.string()),
    })
    .nullable(),
});
export type IntegrationPlan = z.infer<typeof IntegrationPlan>;
