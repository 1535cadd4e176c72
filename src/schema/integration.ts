import { z } from 'zod';
import { RunId } from './ids.ts';
import { RunStatus } from './run.ts';

export const CheckOutcome = z.enum(['passed', 'failed', 'timeout', 'not_started', 'not_run']);

/** One branch of a plan. Branches are in the order of merging. */
export const PlannedBranch = z.object({
  runId: RunId,
  name: z.string(),
  summary: z.string(),
  status: RunStatus,
  branch: z.string(),
  /**
   * Result of the trial merge. `nothing` means that there is nothing to merge, or that it is merged already.
   * `refused` means that the branch's work cannot be committed.
   */
  outcome: z.enum(['merges', 'conflict', 'nothing', 'refused']),
  /** Commit of the merge. Null if the branch is not merged. */
  commit: z.string().nullable(),
  /** Number of files that the merge changes. */
  files: z.number().nullable(),
  conflicts: z.array(z.string()),
  messages: z.array(z.string()),
  /** Conflicting places of the first few files, with Git's conflict markers. */
  hunks: z.array(z.object({ path: z.string(), text: z.string() })),
  /** True if uncommitted work of the run is committed to its branch first. */
  commitsWork: z.boolean(),
  /** Other runs of the plan that changed some of the same files. */
  overlaps: z.array(RunId),
  /** True if the run started from an older commit of the target. */
  isBehind: z.boolean(),
});
export type PlannedBranch = z.infer<typeof PlannedBranch>;

export const ChecklistItem = z.object({
  what: z.string(),
  /** State of a checklist entry. `open` means unknown. */
  state: z.enum(['ok', 'bad', 'open']),
  note: z.string().nullable(),
});
export type ChecklistItem = z.infer<typeof ChecklistItem>;

export const IntegrationPlan = z.object({
  /** Id for approving the plan. Null if the plan is `blocked` or has nothing to merge. */
  planId: z.string().nullable(),
  /** Repository of the plan. This field and those that depend on it are null if no run is ready. */
  repository: z.string().nullable(),
  target: z.string().nullable(),
  /** Commit of the target before and after the merge. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  /** The work tree in which the target is checked out, and whose files are updated. */
  folder: z.string().nullable(),
  branches: z.array(PlannedBranch),
  /** Runs that are not in the plan. `canBeNamed`: they are if the caller names them. */
  leftOut: z.array(z.object({ runId: RunId, why: z.string(), canBeNamed: z.boolean() })),
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
