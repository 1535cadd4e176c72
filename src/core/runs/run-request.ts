import { z } from 'zod';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RoleMeta } from '../../schema/role.ts';
import {
  type Approvals,
  JsonSchema,
  Permission,
  type RunOptions,
  type StateMode,
  type TakesUp,
} from '../../schema/run.ts';
import { NetworkAccess, NO_SANDBOX, type RunSandbox, SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation, type Worktree } from '../../schema/worktree.ts';
import type { EditorServers } from '../gateway/editor-servers.ts';

/**
 * Options that the caller set and that the run's row does not contain. A missing option comes from the role, then
 * from the configuration. Null means none.
 */
export const SavedRequest = z.object({
  /** `spawn` adds the project's context and a plain heading to the prompt. `member` adds only the role. */
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
  /** Path of a schema file in the workspace, or the schema itself. */
  outputSchema: z.union([z.string(), JsonSchema]).nullable().optional(),
  context: z.union([z.boolean(), z.array(z.string())]).optional(),
  sandbox: SandboxLevel.optional(),
  network: NetworkAccess.optional(),
  /** Id of the chat that the new chat is a copy of. */
  forksChat: z.string().optional(),
  /** Name of a machine, or `label=value`. */
  machine: z.string().optional(),
});

export interface RunRequest extends z.infer<typeof SavedRequest> {
  /** Id of the new run, from a caller that has to recognise it if the hub dies meanwhile. */
  id?: RunId;
  approvals?: Approvals;
  /** MCP servers of the editor from which the run is started. */
  editor?: EditorServers | null;
  roleId?: string;
  task: string;
  title?: string;
  cwd?: string;
  chatId?: string;
  /** True if the chat was not begun by Squad, so that it has not read the role. */
  isAdopted?: true;
  notify?: boolean;
  /** For a retry or a reply: the state mode of the first run, even if the setting has changed. */
  stateMode?: StateMode;
  /** For a retry or a reply: the lineage of the first run. */
  lineageId?: RunId;
  takesUp?: TakesUp;
  /** For a retry or a reply: the sandbox of the first run. The new run must not have a weaker sandbox. */
  keeps?: RunSandbox;
  /**
   * For a reply: the engine of the first run, because a chat belongs to one engine. For a subagent call: the engine
   * from the subagent's file.
   */
  spec?: EngineSpec;
  /** For a reply: the folder of the first run. */
  place?: { directory: string; worktree: Worktree | null };
  /** For a reviewer: the run under review. */
  reviewOf?: RunId;
  forkOf?: Worktree;
}

export interface SquadRequest {
  members: RunRequest[];
  metadata?: Record<string, unknown>;
}

/** Merges options of the call and the role; the call takes precedence. Options that neither sets are null. */
export function optionsOf(request: RunRequest, meta: RoleMeta): RunOptions {
  const budgetUsd = own(request.budgetUsd, meta.budget);
  if (budgetUsd !== null && !(budgetUsd > 0))
    throw new SquadError('INVALID_INPUT', `The budget must be more than 0 USD, got ${budgetUsd}`, {
      suggestions: ['Give a budget of more than 0, or leave it out for no limit.'],
    });
  return {
    tools: own(request.tools, meta.tools),
    permission: request.permission ?? meta.permission ?? 'edit',
    approvals: request.approvals ?? meta.approvals ?? 'deny',
    ...{ messages: meta.messages ?? [], wake: meta.wake ?? null },
    effort: own(request.effort, meta.effort),
    stallMs: own(request.stallMs, meta.stall),
    budgetUsd,
    stopAtBudget: request.stopAtBudget ?? true,
    spawn: meta.spawn === true,
    mcp: meta.mcp ?? [],
    notify: request.notify ?? false,
    takesUp: request.takesUp ?? null,
    forksChat: request.forksChat ?? null,
    sandbox: NO_SANDBOX,
    ...{ machine: null, placedBy: null, takeover: false, attempt: { number: 1, turn: 1 } },
    promptOnly: false,
    ...{ parkMs: meta.park ?? null, limit: null },
    ...{
      outputSchema: null,
      servers: request.editor?.config ?? null,
      subagent: null,
      setup: null,
      onEnd: null,
      onAsk: null,
    },
  };
}

/** In a call, null means none and undefined means the role's value. */
const own = <T>(asked: T | null | undefined, ofRole: T | undefined): T | null =>
  asked === undefined ? (ofRole ?? null) : asked;
