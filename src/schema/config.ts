import { z } from 'zod';
import { AcpCommand, CLI_ALIASES, CLI_IDS, ParserKind } from './engine-spec.ts';
import { StateMode } from './run.ts';
import { NetworkAccess, SandboxLevel } from './sandbox.ts';
import { WorktreeSettings } from './worktree.ts';

/** A custom engine: a command and the format of its event lines, or an agent of the Agent Client Protocol. */
export const EngineBlock = z.union([
  z.strictObject({
    runTemplate: z.string(),
    createChatTemplate: z.string().optional(),
    parser: ParserKind.default('text'),
  }),
  /** Program and arguments that start the agent, without a shell. */
  z.strictObject({ acp: AcpCommand }),
]);
export type EngineBlock = z.infer<typeof EngineBlock>;

/** Built-in names are reserved: `claude` always means Claude Code. */
const EngineName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/)
  .refine(name => !RESERVED.includes(name), 'is the name of a built-in engine; choose another name');
const RESERVED: readonly string[] = [
  ...CLI_IDS,
  ...Object.keys(CLI_ALIASES),
  'native',
  'scripted',
  'template',
];

export const ContextSettings = z.strictObject({
  budgetTokens: z.number().int().positive().max(200_000).optional(),
  files: z.array(z.string()).optional(),
});
export type ContextSettings = z.infer<typeof ContextSettings>;

export const ReviewSettings = z.strictObject({
  /** The reviewer's role (default: the role of type review). */
  role: z.string().optional(),
});
export type ReviewSettings = z.infer<typeof ReviewSettings>;

/** `.squad/squad.json` in a workspace. */
export const WorkspaceFile = z.strictObject({
  $schema: z.string().optional(),
  stateMode: StateMode.optional(),
  engine: z.string().optional(),
  runTemplate: z.string().optional(),
  createChatTemplate: z.string().optional(),
  agentsDir: z.string().optional(),
  processTimeoutMs: z.number().int().positive().optional(),
  engines: z.record(EngineName, EngineBlock).optional(),
  context: ContextSettings.optional(),
  /** Program and arguments to run without a shell when a run has ended. */
  onEnd: z.array(z.string()).min(1).optional(),
  /** Program and arguments to run without a shell when an agent asks the user something. */
  onAsk: z.array(z.string()).min(1).optional(),
  worktree: WorktreeSettings.optional(),
  review: ReviewSettings.optional(),
  /** Program and arguments that must succeed before branches are merged. */
  check: z.array(z.string()).min(1).optional(),
  /** Default sandbox of runs, used if neither the call nor the role sets one. */
  sandbox: SandboxLevel.optional(),
  network: NetworkAccess.optional(),
});
export type WorkspaceFile = z.infer<typeof WorkspaceFile>;

/**
 * `$XDG_CONFIG_HOME/squad/config.json`: the keys of the workspace file, plus settings that only the user may change.
 */
export const UserFile = WorkspaceFile.extend({
  allowedRoots: z.array(z.string()).optional(),
  /** Files and folders that sandboxed agents can read too. */
  sandboxRead: z.array(z.string()).optional(),
});
export type UserFile = z.infer<typeof UserFile>;

export type ConfigOrigin = 'environment' | 'workspace' | 'user' | 'default';

/** A value and its origin, for `squad config show` and error messages. */
export interface Setting<T> {
  value: T;
  origin: ConfigOrigin;
  /** Name of the variable or path of the file. */
  source: string;
}

export interface Config {
  stateMode: Setting<StateMode>;
  engine: Setting<string | null>;
  runTemplate: Setting<string | null>;
  createChatTemplate: Setting<string | null>;
  agentsDir: Setting<string | null>;
  processTimeoutMs: Setting<number>;
  engines: Setting<Record<string, EngineBlock>>;
  context: Setting<ContextSettings>;
  onEnd: Setting<string[] | null>;
  onAsk: Setting<string[] | null>;
  worktree: Setting<WorktreeSettings>;
  review: Setting<ReviewSettings>;
  check: Setting<string[] | null>;
  sandbox: Setting<SandboxLevel | null>;
  network: Setting<NetworkAccess | null>;
  sandboxRead: Setting<string[]>;
  allowedRoots: Setting<string[]>;
}

/** Settings of the hub, stored in the database. They apply to all clients of a user. */
export const HubSettings = z.object({
  'limits.concurrency': z.coerce.number().int().min(1).max(10_000).default(8),
  'limits.spawns_per_minute': z.coerce.number().int().min(1).max(100_000).default(30),
  'limits.depth': z.coerce.number().int().min(0).max(10).default(2),
  /** How many turns of one run may begin because of messages of agents and ended child runs. */
  'limits.wakes': z.coerce.number().int().min(0).max(1_000).default(20),
  /** How many minutes a run may wait for usage limits of its engine, if its role does not say it. 0: not at all. */
  'limits.park': z.coerce
    .number()
    .min(0)
    .max(60 * 24 * 24)
    .default(0),
  /** Maximum cost in US dollars (default: no limit). */
  'budget.run_usd': z.coerce.number().positive().optional(),
  'budget.squad_usd': z.coerce.number().positive().optional(),
  'budget.day_usd': z.coerce.number().positive().optional(),
  'output.max_bytes': z.coerce
    .number()
    .int()
    .min(1024)
    .default(2 * 1024 ** 3),
  'stop.grace_ms': z.coerce.number().int().min(0).max(600_000).default(1_500),
  'review.max_iterations': z.coerce.number().int().min(0).max(1_000).default(3),
  'review.auto_abandon_after': z.coerce.number().int().min(1).max(1_000).default(5),
  'review.timeout_hours': z.coerce
    .number()
    .positive()
    .max(24 * 365)
    .default(24),
  /** How long a question stays open by default. 0: every question gets its default answer at once. */
  'inbox.timeout_minutes': z.coerce
    .number()
    .min(0)
    .max(60 * 24 * 365)
    .default(60),
  /** Which runs get a tmux window, if tmux is available. */
  'tmux.sessions': z.enum(['worktree', 'all', 'off']).default('worktree'),
  /** Runs that get a sandbox by default, if a sandbox is available. */
  'sandbox.default': z.enum(['worktree', 'off']).default('worktree'),
  /** How long an agent on another machine may continue without the hub, if its role has `takeover: true`. */
  'machines.lease_seconds': z.coerce.number().int().min(10).max(3600).default(60),
  'prune.days': z.coerce.number().int().min(0).default(30),
});
export type HubSettings = z.infer<typeof HubSettings>;
export type HubSettingKey = keyof HubSettings;
