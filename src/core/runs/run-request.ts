import { z } from 'zod';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RoleMeta } from '../../schema/role.ts';
import { JsonSchema, Permission, type RunOptions, type StateMode, type TakesUp } from '../../schema/run.ts';
import { NetworkAccess, NO_SANDBOX, type RunSandbox, SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation, type Worktree } from '../../schema/worktree.ts';

/** Options that the caller set and that the run's row does not have. What is left out comes from the role, then from the configuration; null means none. */
export const SavedRequest = z.object({
  /** `spawn` adds the project's context and a plain heading to the prompt; a `member` gets only its role. */
  form: z.enum(['member', 'spawn']).optional(),
  engine: z.string().optional(),
  isolation: Isolation.optional(),
  model: z.string().optional(),
  effort: z.string().nullable().optional(),
  tools: z.array(z.string()).nullable().optional(),
  permission: Permission.optional(),
  timeoutMs: z.number().optional(),
  stallMs: z.number().nullable().optional(),
  budgetUsd: z.number().nullable().optional(),
  stopAtBudget: z.boolean().optional(),
  /** Path of a file in the workspace, or the schema itself. */
  outputSchema: z.union([z.string(), JsonSchema]).nullable().optional(),
  context: z.union([z.boolean(), z.array(z.string())]).optional(),
  sandbox: SandboxLevel.optional(),
  network: NetworkAccess.optional(),
});

/** A request for one run. */
export interface RunRequest extends z.infer<typeof SavedRequest> {
  roleId?: string;
  task: string;
  title?: string;
  cwd?: string;
  chatId?: string;
  notify?: boolean;
  /** A retry or a reply: the mode of the first run, whatever is set now. */
  stateMode?: StateMode;
  /** A retry or a reply: the lineage of the first run. */
  lineageId?: RunId;
  takesUp?: TakesUp;
  /** A retry or a reply: the sandbox of the first run, below which it must not fall. */
  keeps?: RunSandbox;
  /** A reply: the engine of the first run, because a chat belongs to one engine. A call of a subagent: its file. */
  spec?: EngineSpec;
  /** A reply: the folder of the first run. */
  place?: { directory: string; worktree: Worktree | null };
  /** A review: the run under review, and the work tree to fork. */
  reviewOf?: RunId;
  forkOf?: Worktree;
}

export interface SquadRequest {
  members: RunRequest[];
  metadata?: Record<string, unknown>;
}

/** The options that a call and a role set; the call takes precedence. Those that come from elsewhere are null. */
export function optionsOf(request: RunRequest, meta: RoleMeta): RunOptions {
  const budgetUsd = own(request.budgetUsd, meta.budget);
  if (budgetUsd !== null && !(budgetUsd > 0))
    throw new SquadError('INVALID_INPUT', `The budget must be more than 0 USD, got ${budgetUsd}`, {
      suggestions: ['Give a budget of more than 0, or leave it out for no limit.'],
    });
  return {
    tools: own(request.tools, meta.tools),
    permission: request.permission ?? meta.permission ?? 'edit',
    approvals: meta.approvals ?? 'deny',
    effort: own(request.effort, meta.effort),
    stallMs: own(request.stallMs, meta.stall),
    budgetUsd,
    stopAtBudget: request.stopAtBudget ?? true,
    spawn: meta.spawn === true,
    mcp: meta.mcp ?? [],
    notify: request.notify ?? false,
    takesUp: request.takesUp ?? null,
    sandbox: NO_SANDBOX,
    ...{ outputSchema: null, servers: null, subagent: null, setup: null, onEnd: null, onAsk: null },
  };
}

/** Null in a call means none; undefined means what the role says. */
const own = <T>(asked: T | null | undefined, ofRole: T | undefined): T | null =>
  asked === undefined ? (ofRole ?? null) : asked;
