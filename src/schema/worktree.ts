import { basename } from 'node:path';
import { z } from 'zod';

/** `worktree` means that the agent gets its own work tree and branch instead of the given folder. */
export const Isolation = z.enum(['none', 'worktree']);
export type Isolation = z.infer<typeof Isolation>;

/** `auto`: a work tree if the folder is in a git repository with a commit, otherwise the given folder. */
export const RoleIsolation = z.enum([...Isolation.options, 'auto']);

/** A git work tree that Squad created for a run. */
export const Worktree = z.object({
  /** Root folder: absolute, links resolved. */
  path: z.string(),
  branch: z.string(),
  /** Root of the user's own work tree, even for a fork of a fork. */
  repository: z.string(),
  /** The commit that the branch started from. */
  base: z.string(),
  /** The branch to merge into. Null if none was checked out in the repository. */
  baseBranch: z.string().nullable(),
  /** Folder of the workspace inside the work tree. */
  workspace: z.string(),
});
export type Worktree = z.infer<typeof Worktree>;

/** Ref for the uncommitted work of a removed work tree. A second one gets a number appended. */
export const savedRefOf = ({ path }: Pick<Worktree, 'path'>): string => `refs/squad/saved/${basename(path)}`;

/** How to prepare a new work tree: files to copy that git does not have, and a command. Both need trust. */
export const WorktreeSettings = z.strictObject({
  /** Paths relative to the workspace, copied if they exist. */
  copy: z.array(z.string().min(1)).optional(),
  /** Program and arguments to run in the work tree, without a shell, before the agent starts. */
  setup: z.array(z.string()).min(1).optional(),
  setupTimeoutMs: z.number().int().positive().max(3_600_000).optional(),
});
export type WorktreeSettings = z.infer<typeof WorktreeSettings>;
