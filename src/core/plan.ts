import type { EngineSpec } from '../schema/engine-spec.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { newRunId, newSquadId } from '../schema/ids.ts';
import type { Role } from '../schema/role.ts';
import type { Run, Squad } from '../schema/run.ts';
import type { Caller, Clock, Engine, Engines, TurnInput, Workspace } from './ports.ts';
import { buildPrompt } from './prompt.ts';
import { checkTask, checkText } from './text.ts';

export interface MemberRequest {
  roleId: string;
  task: string;
  cwd?: string;
  chatId?: string;
}

export interface SquadRequest {
  members: MemberRequest[];
  metadata?: Record<string, unknown>;
  /** For this call instead of what the role or the configuration says. */
  engine?: string;
  timeoutMs?: number;
}

export interface PlannedRun {
  run: Run;
  prompt: string;
  engine: Engine;
  spec: EngineSpec;
  role: Role;
}

export interface PlannedSquad {
  squad: Squad;
  runs: PlannedRun[];
}

export interface PlanContext {
  workspace: Workspace;
  caller: Caller;
  env: Record<string, string>;
  engines: Engines;
  clock: Clock;
}

/**
 * Everything that can be refused is refused here, before a single thing is written or started: one bad role, folder or
 * template refuses the whole call.
 */
export async function planSquad(request: SquadRequest, context: PlanContext): Promise<PlannedSquad> {
  const { workspace, caller, clock } = context;
  const squad: Squad = {
    id: newSquadId(),
    workspace: workspace.root,
    client: caller.client,
    metadata: request.metadata ?? null,
    createdAt: clock.now(),
  };
  const runs = await Promise.all(
    request.members.map((member, position) =>
      planRun(member, position, squad, request, context).catch(thrown => {
        throw inMember(thrown, member, position, request.members.length);
      }),
    ),
  );
  refuseSharedChats(runs);
  return { squad, runs };
}

async function planRun(
  member: MemberRequest,
  position: number,
  squad: Squad,
  request: SquadRequest,
  context: PlanContext,
): Promise<PlannedRun> {
  const { workspace, caller, env, engines } = context;
  checkTask(member.task);
  checkText(member.chatId ?? '', 'The chatId');
  const [role, directory] = await Promise.all([
    workspace.role(member.roleId),
    workspace.directory(member.cwd),
  ]);
  const stateMode = workspace.config.stateMode.value;
  const spec = workspace.engineFor(
    request.engine === undefined ? role : { ...role, meta: { ...role.meta, engine: request.engine } },
  );
  const engine = engines.create(spec);
  if (stateMode === 'stateful' && !member.chatId && !engine.newChat) throw noChats(engine.id);
  const continues = stateMode === 'stateful' && member.chatId !== undefined;
  const mode = stateMode === 'stateless' ? 'stateless' : continues ? 'continued' : 'new_chat';
  const prompt = buildPrompt({ roleBody: role.body, task: member.task, mode });
  const run: Run = {
    id: newRunId(),
    squadId: squad.id,
    position,
    roleId: role.id,
    task: member.task,
    cwd: member.cwd ?? '.',
    directory,
    workspace: workspace.root,
    engine: engine.id,
    model: role.meta.model ?? null,
    stateMode,
    chatId: member.chatId ?? null,
    chatIsNew: stateMode === 'stateful' && !continues,
    parentId: caller.parent?.id ?? null,
    depth: caller.parent ? caller.parent.depth + 1 : 0,
    client: caller.client,
    timeoutMs: request.timeoutMs ?? role.meta.timeout ?? workspace.config.processTimeoutMs.value,
    keepLeftovers: role.meta.leftovers === 'keep',
    status: 'queued',
    error: null,
    usage: null,
    createdAt: squad.createdAt,
    startedAt: null,
    endedAt: null,
  };
  await rehearse(engine, turnInput(run, prompt, '/prompt.md', env));
  return { run, prompt, engine, spec, role };
}

/** Builds the commands once and throws them away: a broken template must refuse the call, not fail a member later. */
async function rehearse(engine: Engine, input: TurnInput): Promise<void> {
  if (engine.newChat?.kind === 'command' && !input.continues && input.chatId === null)
    await engine.newChat.command(input);
  await engine.command(input);
}

export function turnInput(
  run: Run,
  prompt: string,
  promptFile: string,
  env: Record<string, string>,
): TurnInput {
  return {
    runId: run.id,
    roleId: run.roleId,
    task: run.task,
    prompt,
    promptFile,
    cwd: run.directory,
    model: run.model,
    chatId: run.chatId,
    continues: run.stateMode === 'stateful' && !run.chatIsNew,
    env,
  };
}

function refuseSharedChats(runs: PlannedRun[]): void {
  const seen = new Set<string>();
  for (const { run } of runs) {
    if (run.chatId === null) continue;
    if (seen.has(run.chatId)) throw chatBusy(run.chatId, 'another member of this call');
    seen.add(run.chatId);
  }
}

export function chatBusy(chatId: string, holder: string): SquadError {
  return new SquadError('CHAT_BUSY', `Chat ${chatId} is in use by ${holder}`, {
    suggestions: [
      'Wait for that run to end (get_result), cancel it (cancel_run), or leave chatId out to open a new chat.',
    ],
  });
}

function noChats(engine: string): SquadError {
  return new SquadError(
    'TEMPLATE_MISSING',
    `STATE_MODE is stateful, but the ${engine} engine has no way to open a chat`,
    {
      suggestions: [
        'Set CREATE_CHAT_TEMPLATE (or templates/create-chat.template), give a chatId, or use STATE_MODE=stateless.',
      ],
    },
  );
}

function inMember(thrown: unknown, member: MemberRequest, position: number, of: number): SquadError {
  const error = asSquadError(thrown);
  if (of === 1) return error;
  const role = member.roleId.length > 80 ? `${member.roleId.slice(0, 80)}…` : member.roleId;
  return new SquadError(error.code, `members[${position}] (${role}): ${error.message}`, {
    suggestions: [...error.suggestions, 'Nothing was started.'],
    cause: error,
  });
}
