import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RoleMeta } from '../../schema/role.ts';
import type { JsonSchema, Permission, RunOptions, StateMode, TakesUp } from '../../schema/run.ts';
import type { Subagent } from '../../schema/subagent.ts';
import type { Isolation, Worktree } from '../../schema/worktree.ts';

/** One run as somebody asks for it. What is left out comes from the role, then from the configuration; null is none. */
export interface RunRequest {
  /** `spawn` puts the project's context and a plain heading around the prompt; a member gets its role and nothing else. */
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
  /** A file in the workspace, or the schema itself. */
  outputSchema?: string | JsonSchema | null;
  context?: boolean | string[];
  notify?: boolean;
  /** A retry or a reply: chats are kept as they were then, whatever is set now. */
  stateMode?: StateMode;
  /** A retry or a reply: it belongs to the same task as this run. */
  lineageId?: RunId;
  takesUp?: TakesUp;
  /** A reply: the engine as it was, because a chat belongs to one. */
  spec?: EngineSpec;
  /** A call of a subagent: everything its file says. */
  subagent?: Subagent;
  isolation?: Isolation;
  /** A reply: it goes on where the run before was at work. */
  place?: { directory: string; worktree: Worktree | null };
  /** A review: the run it is of, and the work tree it gets a fork of. */
  reviewOf?: RunId;
  forkOf?: Worktree;
}

export interface SquadRequest {
  members: RunRequest[];
  metadata?: Record<string, unknown>;
}

/** Everything but the schema, which is a file, the hooks, which are configured, and what it takes up again. A call's own words come before the role's. */
export function optionsOf(
  request: RunRequest,
  meta: RoleMeta,
): Omit<RunOptions, 'outputSchema' | 'onEnd' | 'onAsk' | 'setup' | 'takesUp'> {
  const budgetUsd = own(request.budgetUsd, meta.budget);
  if (budgetUsd !== null && !(budgetUsd > 0))
    throw new SquadError('INVALID_INPUT', `A budget of ${budgetUsd} USD lets nothing run`, {
      suggestions: ['Give more than 0, or leave it out for no limit.'],
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
    servers: request.subagent?.servers ?? null,
    subagent: request.subagent?.name ?? null,
  };
}

const own = <T>(asked: T | null | undefined, ofRole: T | undefined): T | null =>
  asked === undefined ? (ofRole ?? null) : asked;
