import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RoleMeta } from '../../schema/role.ts';
import type { JsonSchema, Permission, RunOptions, StateMode, TakesUp } from '../../schema/run.ts';
import type { Isolation, Worktree } from '../../schema/worktree.ts';

/** A request for one run. What is left out comes from the role, then from the configuration; null means none. */
export interface RunRequest {
  /** `spawn` adds the project's context and a plain heading to the prompt; a `member` gets only its role. */
  form?: 'member' | 'spawn';
  roleId?: string;
  task: string;
  title?: string;
  cwd?: string;
  chatId?: string;
  engine?: string;
  model?: string;
  effort?: string | null;
  tools?: string[] | null;
  permission?: Permission;
  timeoutMs?: number;
  stallMs?: number | null;
  budgetUsd?: number | null;
  stopAtBudget?: boolean;
  /** Path of a file in the workspace, or the schema itself. */
  outputSchema?: string | JsonSchema | null;
  context?: boolean | string[];
  notify?: boolean;
  /** A retry or a reply: the mode of the first run, whatever is set now. */
  stateMode?: StateMode;
  /** A retry or a reply: the lineage of the first run. */
  lineageId?: RunId;
  takesUp?: TakesUp;
  /** A reply: the engine of the first run, because a chat belongs to one engine. A call of a subagent: its file. */
  spec?: EngineSpec;
  isolation?: Isolation;
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
    ...{ outputSchema: null, servers: null, subagent: null, setup: null, onEnd: null, onAsk: null },
  };
}

/** Null in a call means none; undefined means what the role says. */
const own = <T>(asked: T | null | undefined, ofRole: T | undefined): T | null =>
  asked === undefined ? (ofRole ?? null) : asked;
