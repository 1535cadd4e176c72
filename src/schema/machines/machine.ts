import { z } from 'zod';

/** Name of this machine in `--on` and `machine:`. */
export const LOCAL = 'local';

export const MachineName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,40}$/i, 'use letters, digits, dots, dashes and underscores, at most 41')
  .refine(name => name !== LOCAL, 'local is the name of this machine');

/** Facts that the runner of a machine reported last. */
export const MachineFacts = z.object({
  /** Id of the box itself, independent of its address. */
  machine: z.string().max(100),
  os: z.string().max(100),
  node: z.string().max(100),
  git: z.string().max(100).nullable(),
  cpus: z.int().min(1).max(100_000),
  diskFreeBytes: z.number().nullable(),
  /** Difference between the machine's clock and the hub's, positive if the machine's is ahead. */
  clockAheadMs: z.number(),
  clis: z
    .array(
      z.object({
        cli: z.string().max(100),
        program: z.string().max(4096),
        version: z.string().max(100).nullable(),
      }),
    )
    .max(100),
});
export type MachineFacts = z.infer<typeof MachineFacts>;

/** Another machine on which runs can be placed. */
export const Machine = z.object({
  name: MachineName,
  /** Address as ssh accepts it: `user@host`, a name in the user's ssh configuration, or `ssh://user@host:port`. */
  address: z.string(),
  /** File for `ssh -F`. Null for the user's own configuration. */
  sshConfig: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  /** Number of runs that the machine accepts at once. Null for one per processor. */
  slots: z.int().min(1).max(1000).nullable(),
  /** True if no new runs are placed on the machine. */
  isDraining: z.boolean(),
  addedAt: z.number(),
  facts: MachineFacts,
});
export type Machine = z.infer<typeof Machine>;

/** `away`: the machine was connected and does not answer now. `idle`: no run has needed it since the hub started. */
export const MachineState = z.enum(['up', 'connecting', 'away', 'idle']);
export type MachineState = z.infer<typeof MachineState>;
