import { basename } from 'node:path';
import { z } from 'zod';

/** Whether an agent works in the folder it was given, or in a work tree of its own on a branch of its own. */
export const Isolation = z.enum(['none', 'worktree']);
export type Isolation = z.infer<typeof Isolation>;

/** As a role says it. `auto`: a work tree in a git repository with a commit, and the given folder elsewhere. */
export const RoleIsolation = z.enum([...Isolation.options, 'auto']);

/** A git work tree that was made for a run, and the branch in it. */
export const Worktree = z.object({
  /** Its root: absolute, links resolved. */
  path: z.string(),
  branch: z.string(),
  /** Root of the work tree it was forked from: the user's own, also for a fork of a fork. */
  repository: z.string(),
  /** The commit it began at. */
  base: z.string(),
  /** The branch its work is meant for; null: none was checked out. */
  baseBranch: z.string().nullable(),
  /** Where the workspace is in it. */
  workspace: z.string(),
});
export type Worktree = z.infer<typeof Worktree>;

/** Where what was not committed is kept when one is removed; a second time with a number behind it. */
export const savedRefOf = ({ path }: Pick<Worktree, 'path'>): string => `refs/squad/saved/${basename(path)}`;

/** What makes a fresh work tree usable: files git does not have, and a command. Neither without trust. */
export const WorktreeSettings = z.strictObject({
  /** Paths from the workspace's root, copied where they exist. */
  copy: z.array(z.string().min(1)).optional(),
  /** A program and its arguments, run in the work tree without a shell before the agent starts. */
  setup: z.array(z.string()).min(1).optional(),
  /** How long that may take. */
  setupTimeoutMs: z.number().int().positive().max(3_600_000).optional(),
});
export type WorktreeSettings = z.infer<typeof WorktreeSettings>;
