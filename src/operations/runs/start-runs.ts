import { z } from 'zod';
import { variablesIn } from '../../core/gateway/variables.ts';
import { jsonLength } from '../../core/output/digest.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import type { PlannedSquad } from '../../core/runs/plan-run.ts';
import { planSquad } from '../../core/runs/plan-squad.ts';
import type { RunRequest, SquadRequest } from '../../core/runs/run-request.ts';
import { MAX_CHAT_ID_LENGTH } from '../../core/runs/turn-start.ts';
import { isSubagentRequest } from '../../core/subagents/plan-subagent.ts';
import { SquadError } from '../../schema/error.ts';
import { SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation } from '../../schema/worktree.ts';
import type { Call } from '../operation.ts';
import { untrustedConfigWarning } from '../settings/change-setting.ts';

const MAX_MEMBERS = 1000;
/** Limits in characters of JSON, because these values are part of results, which have a size limit. */
const MAX_LENGTH = { cwd: 4096, chatId: MAX_CHAT_ID_LENGTH, metadata: 4000 };

const member = z.strictObject({
  roleId: z.string(),
  task: z.string(),
  cwd: z.string().optional().describe('Relative to the workspace'),
  isolation: Isolation.optional(),
  sandbox: SandboxLevel.optional(),
});
export const ChatMember = member.extend({
  chatId: z.string().min(1).optional().describe('Chat to continue; none: a new one'),
});
export const request = <T extends z.ZodType>(members: T) =>
  z.strictObject({
    members: z.array(members).min(1).max(MAX_MEMBERS),
    metadata: z.record(z.string(), z.unknown()).optional(),
  });

/** The maximum is the longest delay of a timer. */
export const TimeoutMs = z
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1);

export const StatelessRequest = request(member);
export const StatefulRequest = request(ChatMember);

type Starter = Pick<Call, 'services' | 'caller' | 'onStarted'>;

interface StartedSquad extends PlannedSquad {
  warnings: string[];
}

/** Checks the request, saves the runs and queues them. When this resolves, they are on disk. */
export async function startMembers(call: Starter, asked: SquadRequest): Promise<StartedSquad> {
  refuseLongValues(asked);
  const workspace = await call.services.workspaces.open(call.caller);
  if (workspace.config.stateMode.value === 'stateless') refuseChats(asked);
  return startRuns(call, asked, workspace);
}

/** Starts the runs of a valid request. Throws if they cannot be started. */
export async function startRuns(
  call: Starter,
  asked: SquadRequest,
  workspace: Workspace,
): Promise<StartedSquad> {
  await call.services.runner.admit(asked.members.length, call.caller.parent);
  const plan = await planRuns(call, asked, workspace);
  await call.services.runner.submit(plan);
  call.onStarted?.(
    plan.runs.map(({ run }) => run),
    plan.warnings,
  );
  return plan;
}

/** Checks the same as `startRuns`, but writes nothing. */
export async function planRuns(
  { services, caller }: Starter,
  asked: SquadRequest,
  workspace: Workspace,
): Promise<StartedSquad> {
  const { engines, clock, runner, files, workspaces, worktrees, mcpConfigs, machines } = services;
  // The server configuration is read while the runs are planned, because the start of every agent waits for both.
  const servers = asked.members.every(isSubagentRequest)
    ? Promise.resolve(NO_SERVERS)
    : mcpConfigs.of(workspace.root);
  const plan = await planSquad(asked, {
    workspace,
    caller,
    environment: keep => workspaces.environment(caller, keep),
    gatewayVariables: servers.then(({ config }) => (config ? variablesIn(config) : [])),
    engines,
    files,
    clock,
    worktrees,
    machines,
    settings: services.settings.all(),
    remainingBudget: caller.parent && (await runner.remainingBudget(caller.parent.id)),
    baseline: directory => runner.earlyBaseline(directory),
    sandboxProblem: network => runner.sandboxProblem(network),
  });
  const notes = new Set(plan.runs.flatMap(run => run.notes));
  return {
    ...plan,
    warnings: [
      ...workspace.notes,
      ...untrustedConfigWarning(untrustedSettings(workspace, plan)),
      ...(await servers).warnings,
      ...notes,
    ],
  };
}

/** A subagent has its own servers, so it gets none from the workspace. */
const NO_SERVERS = { config: null, warnings: [] };

function untrustedSettings({ ignored }: Workspace, { runs }: PlannedSquad): { key: string; file: string }[] {
  const grants = runs.flatMap(({ role }) => role?.ungranted.map(key => ({ key, file: role.file })) ?? []);
  return [...ignored, ...grants];
}

function refuseLongValues({ members, metadata }: SquadRequest): void {
  const refuse = (what: string, length: number, limit: number): never => {
    throw new SquadError('INVALID_INPUT', `${what} is ${length} characters of JSON; the limit is ${limit}`, {
      suggestions: ['Put long text into the task or into a file. Nothing was started.'],
    });
  };
  members.forEach((given, at) => {
    for (const key of ['cwd', 'chatId'] as const) {
      const length = jsonLength(given[key] ?? '');
      if (length > MAX_LENGTH[key]) refuse(`${memberPath(members, at)}${key}`, length, MAX_LENGTH[key]);
    }
  });
  const length = JSON.stringify(metadata ?? {}).length;
  if (length > MAX_LENGTH.metadata) refuse('metadata', length, MAX_LENGTH.metadata);
}

function refuseChats({ members }: SquadRequest): void {
  const at = members.findIndex(({ chatId }) => chatId !== undefined);
  if (at < 0) return;
  throw new SquadError(
    'INVALID_INPUT',
    `${memberPath(members, at)}chatId is given, but STATE_MODE is stateless`,
    {
      suggestions: ['Leave chatId out, or set STATE_MODE=stateful. Nothing was started.'],
    },
  );
}

/** Path of a member in the input, such as `members[0].`. Empty for a single spawn, whose input has no list. */
function memberPath(members: RunRequest[], at: number): string {
  if (members[at]?.form !== 'spawn') return `members[${at}].`;
  return members.length === 1 ? '' : `agents[${at}].`;
}

/** Result of a call that returns at once: its runs are saved and queued. */
export const Started = z.object({
  squadId: z.string(),
  runIds: z.array(z.string()),
  warnings: z.array(z.string()),
});
export type Started = z.infer<typeof Started>;

export const started = ({ squad, runs, warnings }: StartedSquad): Started => ({
  squadId: squad.id,
  runIds: runs.map(({ run }) => run.id),
  warnings,
});
