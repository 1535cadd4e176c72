import { isAbsolute } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { Baseline } from '../../schema/evidence.ts';
import { newRunId, type RunId } from '../../schema/ids.ts';
import { LOCAL, type Machine } from '../../schema/machines/machine.ts';
import { enginesOf, type Role, type RoleMeta } from '../../schema/role.ts';
import type { Run, RunOptions, Squad } from '../../schema/run.ts';
import type { NetworkAccess } from '../../schema/sandbox.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { budgetFrom, runBudget } from '../cost/budget.ts';
import { isEditorVariable } from '../gateway/editor-servers.ts';
import { isOrdinaryVariable } from '../gateway/variables.ts';
import { permissionFrom, toolsFrom } from '../policy.ts';
import type { Engine, EngineChoice, Engines } from '../ports/engine.ts';
import type { FoundClis, Machines } from '../ports/machines.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { SandboxProblem } from '../ports/turns.ts';
import type { Caller, Workspace } from '../ports/workspace.ts';
import type { Worktrees } from '../ports/worktrees.ts';
import type { Context } from '../roles/context.ts';
import { answerFormat, buildPrompt } from '../roles/prompt.ts';
import { engineNotTrusted } from '../settings/config.ts';
import { policyFor } from './engine-policy.ts';
import type { OtherEngineSpec } from './plan-file.ts';
import { planSandbox } from './plan-sandbox.ts';
import { optionsOf, type RunRequest } from './run-request.ts';
import { dryRunFiles, turnInput } from './turn-input.ts';

export interface PlannedRun {
  run: Run;
  request: RunRequest;
  prompt: string;
  engine: Engine;
  spec: EngineSpec;
  /** Engines that take over at a usage limit, in this order. */
  others: OtherEngineSpec[];
  role: Role | null;
  env: Record<string, string>;
  /** Values that only the gateway gets, not the agent. */
  variables: Record<string, string>;
  /** Notes for the caller about how the run will be executed. */
  notes: string[];
  /** Snapshot of the folder. It is taken while the rest of the run is planned. Null if that would not save time. */
  baseline: Promise<Baseline> | null;
}

export interface PlannedSquad {
  squad: Squad;
  runs: PlannedRun[];
}

export interface PlanContext {
  workspace: Workspace;
  caller: Caller;
  /** Environment of an agent, including the variables that its role asks to keep. */
  environment(keep: string[]): Promise<Record<string, string>>;
  /** Variables that the workspace's MCP servers are configured with. */
  gatewayVariables: Promise<readonly string[]>;
  engines: Engines;
  files: RunFiles;
  clock: Clock;
  worktrees: Pick<Worktrees, 'plan' | 'repositoryOf'>;
  machines: Pick<Machines, 'choose' | 'clis'>;
  settings: HubSettings;
  /**
   * Money that the calling run may still spend on other runs. Null if no budget limits it, or if the user is the
   * caller.
   */
  remainingBudget: number | null;
  /** Reads the state of a folder for a run that will start there at once. Null if the run will have to wait. */
  baseline(directory: string): Promise<Baseline> | null;
  /** Why turns cannot be sandboxed on this machine. Null if they can. */
  sandboxProblem(network: NetworkAccess): Promise<SandboxProblem | null>;
}

/** Place of a run in the squad that it is planned for. */
export interface Membership {
  squad: Squad;
  position: number;
  members: number;
}

export async function planRun(
  request: RunRequest,
  membership: Membership,
  context: PlanContext,
): Promise<PlannedRun> {
  const { workspace, caller, engines, worktrees } = context;
  // The folder is resolved while the role is read, because every start of an agent waits for both. Errors of the role
  // are reported first.
  const directory =
    request.place || request.machine !== undefined
      ? null
      : workspace.directory(request.cwd, caller.parent?.worktree?.workspace);
  directory?.catch(() => {});
  const role = request.roleId === undefined ? null : await workspace.role(request.roleId);
  const machine = context.machines.choose(askedMachine(request, role, context));
  const on = context.machines.clis(machine?.name ?? null);
  const named = role?.meta.env ?? [];
  const whole = await context.environment(named);
  const { spec, notes } = request.spec
    ? await engines.refresh(request.spec, whole, on)
    : await engineFor(request.engine, role, workspace, whole, on);
  if (machine && spec.kind === 'native') throw nativeElsewhere(machine.name);
  const engine = engines.create(spec);
  const others = await otherEngines(
    request,
    role,
    { isElsewhere: machine !== null, env: whole, on },
    context,
  );
  const id = request.id ?? newRunId();
  const folder = await resolveRunFolder(request, {
    ...{ runId: id, name: role?.id ?? engine.id, role, workspace, worktrees, directory },
    around: caller.parent?.worktree ?? null,
    aroundMachine: caller.parent?.machine ?? null,
    machine,
  });
  // A new work tree does not exist yet, and nobody else works in it, so it needs no snapshot.
  const baseline = folder.worktree || machine ? null : context.baseline(folder.directory);
  const reserved = [...(await context.gatewayVariables), ...(role?.meta.type ? GITHUB_VARIABLES : [])];
  const environmentFor = async (engine: Engine) => {
    const split = await splitEnvironment(whole, { reserved, role, engine }, context);
    // Another machine has its own PATH, HOME and logins. It gets only variables that the role names.
    return machine ? { ...split, env: pick(split.env, name => named.includes(name)) } : split;
  };
  const environment = await environmentFor(engine);
  const { sandbox, note } = await sandboxFor(
    request,
    { role, engine, folder, env: environment.env, machine: machine?.name ?? null },
    context,
  );
  const options = {
    ...(await planOptions(request, role, membership, context)),
    sandbox,
    ...(machine && { machine: machine.name, placedBy: askedMachine(request, role, context) }),
    takeover: folder.worktree !== null && role?.meta.takeover === true,
    setup: folder.worktree && !folder.isShared ? workspace.config.worktree.value : null,
  };
  const run = newRun(id, request, { role, engine, folder, options }, membership, context);
  if (note !== null) run.notes.push(note);
  if (run.keepLeftovers && sandbox.level !== 'off') run.notes.push(NOTHING_KEPT);
  if (machine && options.setup?.copy?.length)
    run.notes.push(`Files of \`worktree.copy\` were not copied: they stay on this machine.`);
  if (run.chatIsNew && run.stateMode === 'stateful' && !engine.newChat) throw noChats(engine.id);
  const prompt = await promptFor(request, run, role, engine, workspace);
  const planned = {
    ...{ run, request, prompt, engine, spec, others: [], role, ...environment, baseline },
    variables: { ...environment.variables, ...request.editor?.values },
    notes: [...notes, ...folder.notes],
  };
  await checkCommand(planned, context);
  const usable = await usableEngines(others.engines, planned, environmentFor, context);
  run.notes.push(...others.notes, ...usable.notes);
  return { ...planned, others: usable.engines };
}

interface OtherEngine {
  spec: EngineSpec;
  engine: Engine;
}

/** The other engines of the role's list. One that is not installed is left out, with a note. */
async function otherEngines(
  request: RunRequest,
  role: Role | null,
  { isElsewhere, env, on }: { isElsewhere: boolean; env: Record<string, string>; on?: FoundClis },
  { workspace, engines }: PlanContext,
): Promise<{ engines: OtherEngine[]; notes: string[] }> {
  const found: OtherEngine[] = [];
  const notes: string[] = [];
  const [, ...names] = role === null ? [undefined] : enginesOf(role.meta);
  // An engine that the call names is not replaced by another, and a chat belongs to its engine.
  if (request.engine !== undefined || request.spec || request.chatId !== undefined)
    return { engines: [], notes };
  for (const name of names)
    try {
      const { spec } = await workspace.engine(name, env, on);
      if (spec.kind === 'native' && isElsewhere) notes.push(cannotTakeOver(name, 'it runs beside the hub'));
      else found.push({ spec, engine: engines.create(spec) });
    } catch (thrown) {
      const { code, message } = asSquadError(thrown);
      if (!ABSENT.includes(code)) throw thrown;
      notes.push(cannotTakeOver(name, message));
    }
  return { engines: found, notes };
}

const ABSENT: readonly string[] = ['ENGINE_NOT_FOUND', 'ENGINE_NOT_EXECUTABLE', 'ENGINE_TOO_OLD'];

const cannotTakeOver = (engine: string, why: string): string =>
  `${engine} cannot take over at a usage limit: ${why.replace(/\.$/, '')}.`;

/** The engines that can continue this run. The command of each is built once, as that of the first. */
async function usableEngines(
  engines: readonly OtherEngine[],
  planned: PlannedRun,
  environmentFor: (engine: Engine) => Promise<Pick<PlannedRun, 'env'>>,
  context: PlanContext,
): Promise<{ engines: OtherEngineSpec[]; notes: string[] }> {
  const { run, variables } = planned;
  const usable: OtherEngineSpec[] = [];
  const notes: string[] = [];
  for (const { spec, engine } of engines) {
    const isSandboxed = run.options.sandbox.level !== 'off';
    const why =
      isSandboxed && engine.sandboxLimit?.kind === 'never'
        ? `the run is sandboxed, and ${engine.sandboxLimit.reason}`
        : run.stateMode === 'stateful' && (engine.newChat === null || engine.newChat.kind === 'command')
          ? 'it cannot open a chat for a run that has begun'
          : null;
    if (why !== null) notes.push(cannotTakeOver(engine.id, why));
    else {
      const { env } = await environmentFor(engine);
      await checkCommand({ ...planned, run: onEngine(run, engine), engine, env }, context);
      usable.push({ spec, variables: Object.keys(env).filter(name => Object.hasOwn(variables, name)) });
    }
  }
  return { engines: usable, notes };
}

/** The run with another engine, in a new chat. The role's model and effort are names of its first engine. */
export function onEngine(run: Run, engine: Engine): Run {
  const options = { ...run.options, effort: null, promptOnly: false };
  return {
    ...{ ...run, options, engine: engine.id, outputIsEvents: engine.reader !== null, model: null },
    ...{ chatId: engine.newChat?.kind === 'minted' ? engine.newChat.mint(options) : null, chatIsNew: true },
    policy: policyFor(engine, options),
  };
}

const NOTHING_KEPT =
  '`leftovers: keep` has no effect in a sandbox: everything that the agent started ends with it. `sandbox: off` keeps it.';

/** The machine that is named by the call, otherwise by the role, otherwise the calling run's. */
const askedMachine = (
  { machine }: RunRequest,
  role: Role | null,
  { caller: { parent } }: PlanContext,
): string => machine ?? role?.meta.machine ?? parent?.machine ?? LOCAL;

const nativeElsewhere = (machine: string): SquadError =>
  new SquadError('INVALID_INPUT', `The native engine runs beside the hub, not on ${machine}`, {
    suggestions: ['Use an agent CLI of that machine (`--engine`), or leave the machine out.'],
  });

/**
 * Throws ENGINE_NOT_TRUSTED if the role names an engine and the role's file is not trusted. No other engine may be
 * used instead.
 */
export async function engineFor(
  asked: string | undefined,
  role: Role | null,
  workspace: Workspace,
  env: Record<string, string>,
  on?: FoundClis,
): Promise<EngineChoice> {
  if (asked === undefined && role?.ungranted.includes('engine')) throw engineNotTrusted(role.file);
  return workspace.engine(asked ?? (role && enginesOf(role.meta)[0]) ?? null, env, on);
}

export interface RunFolder {
  directory: string;
  worktree: Worktree | null;
  /** True if others may be working in the folder, so that Squad must not run setup commands there. */
  isShared: boolean;
  /** Notes for the caller. */
  notes: string[];
}

interface FolderContext {
  runId: RunId;
  /** Name of the run, used in the name of its branch. */
  name: string;
  role: Role | null;
  workspace: Workspace;
  worktrees: Pick<Worktrees, 'plan' | 'repositoryOf'>;
  /** Work tree of the calling run. */
  around: Worktree | null;
  aroundMachine?: string | null;
  /** The requested folder, if it is already being resolved. */
  directory?: Promise<string> | null;
  /** Machine of the run. Null means the hub's own machine. */
  machine?: Machine | null;
}

/**
 * Returns the caller's folder, or a new work tree. A run started by an agent in a work tree stays in that work tree
 * or gets a fork of it, because it must not touch the user's own checkout.
 */
export async function resolveRunFolder(request: RunRequest, context: FolderContext): Promise<RunFolder> {
  const { runId, name, role, workspace, worktrees, around, machine = null } = context;
  if (machine && !request.place && !around) {
    const folder = folderElsewhere(request, machine);
    if (folder) return folder;
  }
  if (request.place) {
    await checkPlace(request.place, context);
    return { ...request.place, isShared: false, notes: [] };
  }
  const directory = await (context.directory ?? workspace.directory(request.cwd, around?.workspace));
  const usual = request.isolation ?? role?.meta.isolation ?? 'none';
  const isolation = machine && !around ? 'worktree' : usual;
  if (isolation === 'none' && around && (machine?.name ?? null) !== context.aroundMachine && !request.forkOf)
    throw sharedElsewhere(around, context.aroundMachine ?? null);
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
    const { code, message, suggestions } = asSquadError(thrown);
    if (machine && !around)
      throw new SquadError(code, message, {
        suggestions: [...suggestions, folderHint(machine.name)],
        cause: thrown,
      });
    if (isolation !== 'auto' || request.forkOf) throw thrown;
    if (code === 'NOT_A_REPOSITORY' || code === 'REPOSITORY_UNSUITABLE')
      return { directory, worktree: around, isShared: true, notes: [] };
    throw new SquadError(code, message, { suggestions: [...suggestions, IN_PLACE], cause: thrown });
  }
}

/** The folder on another machine that the call names. Null if the run gets a work tree. */
function folderElsewhere({ cwd, isolation }: RunRequest, { name, facts }: Machine): RunFolder | null {
  if (isolation !== 'worktree' && cwd !== undefined && isAbsolute(cwd))
    return { directory: cwd, worktree: null, isShared: true, notes: [] };
  if (isolation === 'none')
    throw new SquadError(
      'INVALID_INPUT',
      `Without a work tree, a run on ${name} needs a folder of that machine`,
      {
        suggestions: [`Name the folder: \`--cwd /path/on/${name}\`.`],
      },
    );
  if (facts.git !== null) return null;
  throw new SquadError('MACHINE_UNSUITABLE', `There is no git on ${name}, which a work tree needs`, {
    suggestions: [
      `Install git on ${name}, then run \`squad machines doctor ${shellWord(name)}\`.`,
      folderHint(name),
    ],
  });
}

const folderHint = (machine: string): string =>
  `Or name a folder of that machine: \`--no-worktree --cwd /path/on/${machine}\`.`;

/** The files of a work tree are on the machine of the run that works in it. */
const sharedElsewhere = ({ path }: Worktree, machine: string | null): SquadError =>
  new SquadError(
    'INVALID_INPUT',
    `A run on another machine cannot share the work tree ${path}, whose files are on ${machine ?? 'this machine'}`,
    {
      suggestions: [
        `Start the run on that machine, or give the run its own work tree: \`isolation: "worktree"\`.`,
      ],
    },
  );

const IN_PLACE =
  'Or work without a work tree: `isolation: "none"` in the call, or `squad run --no-worktree`.';

/**
 * Checks the folder of an earlier run, which may be gone or no longer allowed. A missing work tree is created again.
 */
async function checkPlace(
  { directory, worktree }: NonNullable<RunRequest['place']>,
  { workspace, worktrees, machine }: FolderContext,
): Promise<void> {
  if (!worktree && machine) return;
  if (!worktree) await workspace.directory(directory);
  else if ((await worktrees.repositoryOf(worktree)) === null)
    throw new SquadError(
      'NOT_A_REPOSITORY',
      `The work tree ${worktree.path} belongs to ${worktree.repository}, which is no longer a Git repository`,
      { suggestions: ['Put the repository back where it was, or start a new run where it is now.'] },
    );
}

/** Variables with which Squad creates pull requests and issues. Agents do not get them. */
const GITHUB_VARIABLES = ['GITHUB_TOKEN', 'GH_TOKEN'];

/**
 * Splits the environment into variables for the agent and variables for the gateway only. `reserved` lists names for
 * the gateway. The agent still gets a reserved variable if it is a common one, or if its role or its engine needs it.
 */
export async function splitEnvironment(
  whole: Record<string, string>,
  {
    reserved,
    role,
    engine,
  }: { reserved: readonly string[]; role: Role | null; engine: Pick<Engine, 'needsVariable'> },
  { caller, files }: Pick<PlanContext, 'caller' | 'files'>,
): Promise<Pick<PlannedRun, 'env' | 'variables'>> {
  const { parent } = caller;
  // Variables of the calling run that only the gateway has. The user set them, so its child runs get them too.
  const inherited = Object.fromEntries(
    Object.entries(parent ? await files.variables(parent.id) : {}).filter(
      ([name]) => !isEditorVariable(name),
    ),
  );
  // A run must not get variables that were withheld from it by starting another run.
  const withheld = [...Object.keys(inherited), ...(parent?.type ? GITHUB_VARIABLES : [])].filter(
    name => caller.env[name] === undefined,
  );
  const kept = new Set([...reserved, ...withheld]);
  const isForAgent = (name: string) =>
    !kept.has(name) ||
    isOrdinaryVariable(name) ||
    role?.meta.env?.includes(name) ||
    engine.needsVariable(name);
  return {
    env: pick(whole, isForAgent),
    variables: pick({ ...inherited, ...whole }, name => kept.has(name)),
  };
}

export const pick = (env: Record<string, string>, isPicked: (name: string) => boolean | undefined) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => isPicked(name)));

/**
 * Merges the options of the call, the role and the configuration. They are limited to what the calling run may do.
 */
export async function planOptions(
  request: RunRequest,
  role: Role | null,
  { members }: Membership,
  { workspace, caller: { parent }, settings, remainingBudget }: PlanContext,
): Promise<RunOptions> {
  const meta: RoleMeta = role?.meta ?? {};
  const asked = optionsOf(request, meta);
  // The budget includes the hub-wide one, because the engine has to know it.
  const budget = {
    budgetUsd: runBudget(asked.budgetUsd, settings),
    stopAtBudget: asked.stopAtBudget,
  };
  const schema = request.outputSchema === undefined ? (meta.output_schema ?? null) : request.outputSchema;
  return {
    ...{ ...asked, ...budget },
    ...(parent && {
      ...budgetFrom(parent.id, remainingBudget, members, budget),
      permission: permissionFrom(parent, request.permission, meta.permission),
      tools: toolsFrom(parent, request.tools, meta.tools),
    }),
    parkMs: asked.parkMs ?? (settings['limits.park'] * 60_000 || null),
    outputSchema: typeof schema === 'string' ? await workspace.outputSchema(schema) : schema,
    onEnd: workspace.config.onEnd.value,
    onAsk: workspace.config.onAsk.value,
  };
}

interface SandboxParts extends Omit<RunParts, 'options'> {
  env: Record<string, string>;
  machine: string | null;
}

/** Decides how the run is sandboxed. `note` is for readers of its result. */
export function sandboxFor(
  request: RunRequest,
  { role, engine, folder, env, machine }: SandboxParts,
  { workspace, caller: { parent }, files, settings, sandboxProblem }: PlanContext,
): ReturnType<typeof planSandbox> {
  const chatId = request.chatId ?? request.forksChat;
  const { directory, worktree } = folder;
  return planSandbox({
    ...{ request, role, engine, parent, config: workspace.config },
    isDefault: worktree !== null && settings['sandbox.default'] === 'worktree',
    chat: chatId === undefined ? null : files.hasChatHome(engine.id, chatId) ? 'inside' : 'outside',
    problem: async network => {
      if (machine !== null) return noSandboxOn(machine);
      const hidden = [env.HOME, files.chatFolder(engine.id, chatId ?? 'any')].find(
        path => path !== undefined && !worktree && isBelow(path, directory),
      );
      if (hidden === undefined) return sandboxProblem(network);
      return {
        reason: `the run's folder ${directory} contains ${hidden}, which a sandbox must hide`,
        suggestions: ['Start the run in a folder of the project.'],
      };
    },
  });
}

const noSandboxOn = (machine: string) => ({
  reason: `runs on other machines (${machine}) have no sandbox`,
  suggestions: ['Ask for `sandbox: off` (`--sandbox off`), or leave the machine out.'],
});

const isBelow = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`);

interface RunParts {
  role: Role | null;
  engine: Engine;
  folder: Pick<RunFolder, 'directory' | 'worktree'>;
  options: RunOptions;
}

/** Creates the row of a run that is queued for its first turn. */
export function newRun(
  id: RunId,
  request: RunRequest,
  { role, engine, folder, options }: RunParts,
  { squad, position }: Membership,
  { workspace, caller: { client, parent } }: PlanContext,
): Run {
  const { directory, worktree } = folder;
  const meta: RoleMeta = role?.meta ?? {};
  return {
    id,
    squadId: squad.id,
    position,
    lineageId: request.lineageId ?? parent?.lineageId ?? id,
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
    stateMode: request.stateMode ?? workspace.config.stateMode.value,
    // An engine that accepts chat ids from Squad always gets one, so that every run can be continued.
    chatId: request.chatId ?? (engine.newChat?.kind === 'minted' ? engine.newChat.mint(options) : null),
    chatIsNew: request.chatId === undefined,
    parentId: parent?.id ?? null,
    // A review is the next step of the same work, so it does not count as nested deeper.
    depth: parent ? parent.depth + (request.reviewOf ? 0 : 1) : 0,
    client,
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
}

/**
 * Builds the commands of all members once and discards them. A broken template then makes the call fail, instead of a
 * single member later.
 */
export async function checkCommand(
  planned: PlannedRun,
  { files }: Pick<PlanContext, 'files'>,
): Promise<PlannedRun> {
  const { run, engine, prompt, env } = planned;
  const material = { prompt, promptFile: '/prompt.md', env };
  const input = turnInput(run, material, null, dryRunFiles(files, run));
  if (engine.newChat?.kind === 'command' && !input.continues && run.stateMode === 'stateful')
    await engine.newChat.command(input);
  await engine.command(input);
  return planned;
}

async function promptFor(
  request: RunRequest,
  { stateMode, options: { outputSchema } }: Run,
  role: Role | null,
  engine: Engine,
  workspace: Workspace,
): Promise<string> {
  const { form, chatId, task: asked } = request;
  const roleBody = role?.body ?? '';
  const task = outputSchema === null || engine.takesSchema ? asked : `${asked}${answerFormat(outputSchema)}`;
  if (chatId !== undefined && !request.isAdopted) return buildPrompt({ roleBody, task, mode: 'continued' });
  const found = await contextFor(request, role, engine, workspace);
  const mode = form === 'spawn' ? 'spawn' : stateMode === 'stateful' ? 'new_chat' : 'stateless';
  return buildPrompt({ context: found?.text ?? '', roleBody, task, mode });
}

/** Project context that precedes the task. Null when neither the call nor the role requests it. */
export async function contextFor(
  { form, context }: Pick<RunRequest, 'form' | 'context'>,
  role: Role | null,
  engine: Pick<Engine, 'loadsItself'>,
  workspace: Workspace,
): Promise<Context | null> {
  const wanted = context ?? role?.meta.context ?? form === 'spawn';
  return wanted === false ? null : workspace.context(wanted, engine.loadsItself);
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
    `STATE_MODE is stateful, but the ${engine} engine cannot open chats`,
    {
      suggestions: [
        'Set CREATE_CHAT_TEMPLATE (or templates/create-chat.template), give a chatId, or use STATE_MODE=stateless.',
      ],
    },
  );
}
