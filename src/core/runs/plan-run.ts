import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { newRunId, newSquadId, type RunId } from '../../schema/ids.ts';
import type { Role } from '../../schema/role.ts';
import type { Run, Squad } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { budgetFrom, runBudget } from '../cost/budget.ts';
import { isOrdinaryVariable, variablesIn } from '../gateway/variables.ts';
import { permissionFrom, toolsFrom } from '../policy.ts';
import type { Engine, EngineChoice, Engines } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Caller, Workspace } from '../ports/workspace.ts';
import type { Worktrees } from '../ports/worktrees.ts';
import type { Context } from '../roles/context.ts';
import { answerFormat, buildPrompt } from '../roles/prompt.ts';
import { engineNotTrusted } from '../settings/config-sources.ts';
import { checkTask, checkText } from '../text.ts';
import { policyFor } from './engine-policy.ts';
import type { RunMaterial } from './live-run.ts';
import { optionsOf, type RunRequest, type SquadRequest } from './run-request.ts';
import { dryRunFiles, turnInput } from './turn-input.ts';

/** Where a run works. */
interface RunFolder {
  directory: string;
  worktree: Worktree | null;
  /** Somebody is at work in it: nothing is to be set up there. */
  isShared: boolean;
  /** What the caller should know about it. */
  notes: string[];
}

interface PlaceContext {
  runId: RunId;
  /** What the run is called in the name of its branch. */
  name: string;
  role: Role | null;
  workspace: Workspace;
  worktrees: Pick<Worktrees, 'plan' | 'repositoryOf'>;
  /** The work tree of the run that asks. */
  around: Worktree | null;
}

/**
 * In the caller's folder, or in a work tree of its own. What an agent in a work tree starts stays in there too, or has a
 * fork of it: the user's own checkout is none of its business.
 */
export async function resolveRunFolder(request: RunRequest, context: PlaceContext): Promise<RunFolder> {
  const { runId, name, role, workspace, worktrees, around } = context;
  if (request.place) {
    await checkPlace(request, request.place, context);
    return { ...request.place, isShared: false, notes: [] };
  }
  const directory = await workspace.directory(request.cwd, around?.workspace);
  const isolation = request.isolation ?? role?.meta.isolation ?? 'none';
  if (isolation === 'none' && !request.forkOf)
    return { directory, worktree: around, isShared: true, notes: [] };
  const from = request.forkOf ?? around ?? undefined;
  try {
    const planned = await worktrees.plan({
      ...{ runId, name, directory },
      workspace: around?.workspace ?? workspace.root,
      ...(from && { from }),
    });
    return { ...planned, isShared: false };
  } catch (thrown) {
    if (isolation !== 'auto' || request.forkOf) throw thrown;
    const { code, message, suggestions } = asSquadError(thrown);
    if (code === 'NOT_A_REPOSITORY' || code === 'REPOSITORY_UNSUITABLE')
      return { directory, worktree: around, isShared: true, notes: [] };
    throw new SquadError(code, message, { suggestions: [...suggestions, IN_PLACE], cause: thrown });
  }
}

const IN_PLACE =
  'Or work without a work tree: `isolation: "none"` in the call, or `squad run --no-worktree`.';

/** A folder from before may be gone by now, or no longer allowed. A work tree that is gone is made again. */
async function checkPlace(
  { subagent }: RunRequest,
  { directory, worktree }: NonNullable<RunRequest['place']>,
  { workspace, worktrees }: PlaceContext,
): Promise<void> {
  // A subagent works where its caller was started, in the workspace or not.
  if (!worktree) await workspace.directory(directory, subagent ? directory : undefined);
  else if ((await worktrees.repositoryOf(worktree)) === null)
    throw new SquadError(
      'NOT_A_REPOSITORY',
      `The work tree ${worktree.path} belongs to ${worktree.repository}, which is no repository any more`,
      { suggestions: ['Put the repository back where it was, or start a new run where it is now.'] },
    );
}

/** With which pull requests and issues are made. */
const GITHUB_VARIABLES = ['GITHUB_TOKEN', 'GH_TOKEN'];

export interface PlannedRun {
  run: Run;
  request: RunRequest;
  prompt: string;
  engine: Engine;
  spec: EngineSpec;
  role: Role | null;
  env: Record<string, string>;
  /** What the gateway needs to know for it and its agent does not. */
  variables: Record<string, string>;
  /** What the caller should know about how it will be run. */
  notes: string[];
}

export interface PlannedSquad {
  squad: Squad;
  runs: PlannedRun[];
}

interface PlanContext {
  workspace: Workspace;
  caller: Caller;
  /** The environment an agent gets, with what its role asks to keep. */
  environment(keep: string[]): Promise<Record<string, string>>;
  /** Variables that other MCP servers of this workspace are set up with. */
  gatewayVariables: Promise<readonly string[]>;
  engines: Engines;
  files: RunFiles;
  clock: Clock;
  worktrees: Pick<Worktrees, 'plan' | 'repositoryOf'>;
  settings: HubSettings;
  /** What the run that asks may still spend on others; null: no budget holds it, or the user asks. */
  moneyLeft: number | null;
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
      planRun(member, position, squad, context, request.members.length).catch(thrown => {
        throw inMember(thrown, member, position, request.members.length);
      }),
    ),
  );
  refuseSharedChats(runs);
  return { squad, runs };
}

async function planRun(
  request: RunRequest,
  position: number,
  squad: Squad,
  {
    workspace,
    caller,
    environment,
    gatewayVariables,
    engines,
    files,
    worktrees,
    settings,
    moneyLeft,
  }: PlanContext,
  members: number,
): Promise<PlannedRun> {
  checkTask(request.task);
  checkText(request.chatId ?? '', 'The chatId');
  const role = request.roleId === undefined ? null : await workspace.role(request.roleId);
  const meta = role?.meta ?? {};
  const whole = await environment(meta.env ?? []);
  const { spec, notes } = request.spec
    ? await engines.refresh(request.spec, whole)
    : await engineFor(request.engine, role, workspace, whole);
  const engine = engines.create(spec);
  const id = newRunId();
  const { directory, worktree, ...place } = await resolveRunFolder(request, {
    ...{ runId: id, name: role?.id ?? engine.id, role, workspace, worktrees },
    around: caller.parent?.worktree ?? null,
  });
  // A run that starts another has not seen them itself, but they were its user's.
  const inherited = caller.parent ? await files.variables(caller.parent.id) : {};
  // Those with which Squad speaks to GitHub for it are none of its agent's business either.
  const { subagent } = request;
  const kept = [
    // A subagent has the servers of its file, and no others.
    ...(subagent ? (subagent.servers ? variablesIn(subagent.servers) : []) : await gatewayVariables),
    ...(meta.type ? GITHUB_VARIABLES : []),
    ...withheldFrom(caller, inherited),
  ];
  const variables = onlyNamed(kept, { ...inherited, ...whole });
  const env = without(
    kept.filter(
      name => !isOrdinaryVariable(name) && !meta.env?.includes(name) && !engine.needsVariable(name),
    ),
    whole,
  );
  const stateMode = request.stateMode ?? workspace.config.stateMode.value;
  const continues = request.chatId !== undefined;
  if (!continues && stateMode === 'stateful' && !engine.newChat) throw noChats(engine.id);
  const schema = request.outputSchema === undefined ? (meta.output_schema ?? null) : request.outputSchema;
  const asked = optionsOf(request, meta);
  // The engine is to know it too, whoever set it.
  const budgetUsd = runBudget(asked.budgetUsd, settings);
  const options = {
    ...{ ...asked, budgetUsd },
    ...(caller.parent && {
      ...budgetFrom(caller.parent.id, moneyLeft, members, { ...asked, budgetUsd }),
      permission: permissionFrom(caller.parent, request.permission, meta.permission),
      tools: toolsFrom(caller.parent, request.tools, meta.tools),
    }),
    // What a subagent has, its file says: its caller's own tools are another thing.
    ...(subagent && { tools: null }),
    outputSchema: typeof schema === 'string' ? await workspace.outputSchema(schema) : schema,
    setup: worktree && !place.isShared ? workspace.config.worktree.value : null,
    onEnd: workspace.config.onEnd.value,
    onAsk: workspace.config.onAsk.value,
    takesUp: request.takesUp ?? null,
  };
  const run: Run = {
    id,
    squadId: squad.id,
    position,
    lineageId: request.lineageId ?? caller.parent?.lineageId ?? id,
    roleId: role?.id ?? null,
    type: meta.type ?? null,
    reviewOf: request.reviewOf ?? null,
    task: request.task,
    title: request.title ?? null,
    cwd: request.cwd ?? '.',
    directory,
    workspace: workspace.root,
    worktree,
    engine: engine.id,
    outputIsEvents: engine.reader !== null,
    model: request.model ?? meta.model ?? null,
    stateMode,
    // An engine that takes an id of ours always gets one: then any run of it can be gone on with.
    chatId: request.chatId ?? (engine.newChat?.kind === 'minted' ? engine.newChat.mint() : null),
    chatIsNew: !continues,
    parentId: caller.parent?.id ?? null,
    // A review is the next step of the same work, not work that was handed on.
    depth: caller.parent ? caller.parent.depth + (request.reviewOf ? 0 : 1) : 0,
    client: caller.client,
    timeoutMs: request.timeoutMs ?? meta.timeout ?? workspace.config.processTimeoutMs.value,
    keepLeftovers: meta.leftovers === 'keep',
    options,
    policy: policyFor(engine, options),
    tokenHash: null,
    status: 'queued',
    turn: 1,
    error: null,
    usage: null,
    notes: [],
    evidence: null,
    createdAt: squad.createdAt,
    startedAt: null,
    endedAt: null,
  };
  const prompt = await promptFor(request, run, role, engine, workspace);
  await rehearse(engine, run, { prompt, promptFile: '/prompt.md', env }, files);
  return { run, request, prompt, engine, spec, role, env, variables, notes: [...notes, ...place.notes] };
}

/** Throws ENGINE_NOT_TRUSTED where the role names an engine and its file is not trusted: no other may run instead. */
export async function engineFor(
  asked: string | undefined,
  role: Role | null,
  workspace: Workspace,
  env: Record<string, string>,
): Promise<EngineChoice> {
  if (asked === undefined && role?.ungranted.includes('engine')) throw engineNotTrusted(role.file);
  return workspace.engine(asked ?? role?.meta.engine ?? null, env);
}

async function promptFor(
  request: RunRequest,
  { stateMode, options: { outputSchema } }: Run,
  role: Role | null,
  engine: Engine,
  workspace: Workspace,
): Promise<string> {
  const { form, chatId, task: asked } = request;
  // A subagent gets the prompt of its caller as it is, with the system prompt of its file; its failures are tool errors.
  if (request.subagent) return asked;
  const roleBody = role?.body ?? '';
  const task = outputSchema === null || engine.takesSchema ? asked : `${asked}${answerFormat(outputSchema)}`;
  if (chatId !== undefined) return buildPrompt({ roleBody, task, mode: 'continued' });
  const found = await contextFor(request, role, engine, workspace);
  const mode = form === 'spawn' ? 'spawn' : stateMode === 'stateful' ? 'new_chat' : 'stateless';
  return buildPrompt({ context: found?.text ?? '', roleBody, task, mode });
}

/** What an agent is told of the project before its task; null when neither the call nor the role asks for it. */
export async function contextFor(
  { form, context }: Pick<RunRequest, 'form' | 'context'>,
  role: Role | null,
  engine: Pick<Engine, 'loadsItself'>,
  workspace: Workspace,
): Promise<Context | null> {
  const wanted = context ?? role?.meta.context ?? form === 'spawn';
  return wanted === false ? null : workspace.context(wanted, engine.loadsItself);
}

/** Builds the commands once and throws them away: a broken template must refuse the call, not fail a member later. */
async function rehearse(engine: Engine, run: Run, material: RunMaterial, files: RunFiles): Promise<void> {
  const input = turnInput(run, material, null, dryRunFiles(files, run));
  if (engine.newChat?.kind === 'command' && !input.continues && run.stateMode === 'stateful')
    await engine.newChat.command(input);
  await engine.command(input);
}

/** What a run is not shown it does not get by starting another either. */
function withheldFrom({ parent, env }: Caller, inherited: Record<string, string>): string[] {
  const names = [...Object.keys(inherited), ...(parent?.type ? GITHUB_VARIABLES : [])];
  return names.filter(name => env[name] === undefined);
}

const onlyNamed = (names: readonly string[], env: Record<string, string>) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
const without = (names: readonly string[], env: Record<string, string>) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));

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

function inMember(thrown: unknown, { roleId, form }: RunRequest, position: number, of: number): SquadError {
  const error = asSquadError(thrown);
  if (of === 1) return error;
  const role = roleId === undefined ? '' : ` (${roleId.length > 80 ? `${roleId.slice(0, 80)}…` : roleId})`;
  const list = form === 'spawn' ? 'agents' : 'members';
  return new SquadError(error.code, `${list}[${position}]${role}: ${error.message}`, {
    suggestions: [...error.suggestions, 'Nothing was started.'],
    cause: error,
  });
}
