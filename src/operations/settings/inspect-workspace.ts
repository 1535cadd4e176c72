import { basename } from 'node:path';
import { z } from 'zod';
import type { Engine, TurnInput } from '../../core/ports/engine.ts';
import type { RunFiles } from '../../core/ports/run-files.ts';
import { policyFor } from '../../core/runs/engine-policy.ts';
import { optionsOf, type RunRequest } from '../../core/runs/run-request.ts';
import { dryRunFiles } from '../../core/runs/turn-input.ts';
import { type HubSettingKey, HubSettings } from '../../schema/config.ts';
import type { InstalledCli } from '../../schema/engine-spec.ts';
import { asSquadError } from '../../schema/error.ts';
import { newRunId } from '../../schema/ids.ts';
import { isEnd, PolicyRule } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';

const Shown = z.object({ key: z.string(), value: z.unknown(), origin: z.string(), source: z.string() });

/** The caller's workspace: every setting with its source, the roles with their errors, the engine. */
export const inspectWorkspace = operation({
  name: 'inspect_workspace',
  route: 'GET /workspace',
  agents: 'spawn',
  input: z.strictObject({}),
  output: z.object({
    root: z.string(),
    /** Whether the folder is in a git repository. */
    isRepository: z.boolean(),
    settings: z.array(Shown),
    untrusted: z.array(z.string()),
    ignored: z.array(z.object({ file: z.string(), key: z.string(), reason: z.string() })),
    rolesFolder: z.object({ folder: z.string(), reason: z.string() }),
    roles: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        file: z.string(),
        fault: z.string().nullable(),
        warnings: z.array(z.string()),
      }),
    ),
    engine: z.object({
      id: z.string().nullable(),
      notes: z.array(z.string()),
      problem: z.string().nullable(),
      suggestions: z.array(z.string()),
    }),
    limits: z.array(Shown),
  }),
  async run({ services, caller }) {
    const workspace = await services.workspaces.open(caller);
    const roles = await workspace.roles();
    return {
      root: workspace.root,
      isRepository: (await services.worktrees.checkout(workspace.root).catch(() => null)) !== null,
      settings: Object.entries(workspace.config).map(([key, setting]) => ({ key, ...setting })),
      untrusted: await workspace.untrusted(),
      ignored: workspace.ignored,
      rolesFolder: workspace.rolesFolder,
      roles: roles.map(({ id, name, description, file, fault, warnings }) => ({
        ...{ id, name, description, file, fault, warnings },
      })),
      engine: await chosenEngine(async () => {
        const env = await services.workspaces.environment(caller);
        const { spec, notes } = await workspace.engine(null, env);
        const engine = services.engines.create(spec);
        if (spec.kind === 'native') return { id: engine.id, notes: [...notes, MODEL_LATER] };
        await engine.command({ ...sampleTurn(engine, services.files), cwd: workspace.root, env });
        return { id: engine.id, notes };
      }),
      limits: Object.keys(HubSettings.shape).map(key => ({
        key,
        value: services.settings.all()[key as HubSettingKey] ?? null,
        origin: services.settings.isSet(key) ? 'settings' : 'default',
        source: services.settings.isSet(key) ? 'squad config set' : 'built in',
      })),
    };
  },
});

/** Message in place of a check of the native engine, because only the model decides which key is needed. */
const MODEL_LATER = 'The model comes with each run or role, as in --model anthropic/….';

async function chosenEngine(
  choose: () => Promise<{ id: string; notes: string[] }>,
): Promise<{ id: string | null; notes: string[]; problem: string | null; suggestions: string[] }> {
  try {
    return { ...(await choose()), problem: null, suggestions: [] };
  } catch (thrown) {
    const { message, suggestions } = asSquadError(thrown);
    return { id: null, notes: [], problem: message, suggestions };
  }
}

/** A turn that is never started: enough to check whether a command can be built and its program found. */
function sampleTurn(engine: Engine, files: RunFiles): Omit<TurnInput, 'cwd' | 'env'> {
  const runId = newRunId();
  return {
    runId,
    roleId: 'role',
    task: 'task',
    prompt: 'prompt',
    promptFile: '/prompt.md',
    worktree: null,
    model: null,
    chatId: null,
    continues: false,
    options: optionsOf({ task: 'task' }, {}),
    timeoutMs: 60_000,
    endpoint: null,
    files: dryRunFiles(files, { engine: engine.id, chatId: null, id: runId }),
  };
}

/** Every agent CLI that Squad supports: its program, its version, and the limits that it cannot enforce. */
export const inspectEngines = operation({
  name: 'inspect_engines',
  route: 'GET /engines',
  agents: 'spawn',
  input: z.strictObject({
    /** If false, Squad searches for no programs and starts none. */
    look: z.boolean().default(true),
  }),
  output: z.object({
    engines: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        /** Path of the program. Null if it was not found. */
        program: z.string().nullable(),
        version: z.string().nullable(),
        /** Version with which Squad's tests tried the rules that the CLI enforces. Null if none was. */
        tested: z.string().nullable(),
        warning: z.string().nullable(),
        install: z.string(),
        login: z.string(),
        /** Limits that are only part of the instructions, not enforced. */
        advisory: z.array(z.string()),
        /** Limits of a role, and what enforces each of them without a sandbox and in one. */
        rules: z.array(PolicyRule.extend({ inSandbox: PolicyRule.shape.heldBy })),
      }),
    ),
  }),
  async run({ services, caller }, { look }) {
    const { engines, workspaces } = services;
    const found = look ? await engines.installed(await workspaces.environment(caller)) : [];
    const installed = new Map(found.map(each => [each.cli, each]));
    return {
      engines: engines.clis().map(({ cli, toolNames, ...facts }) => {
        const found = installed.get(cli);
        return {
          id: cli,
          ...facts,
          program: found?.program ?? null,
          version: found?.version ?? null,
          warning: found?.warning ?? null,
          advisory: found ? advisoryFor(services, found) : [],
          rules: rulesFor(services, found ?? { cli, program: cli, version: null }),
        };
      }),
    };
  },
});

type KnownCli = Pick<InstalledCli, 'cli' | 'program' | 'version'>;

/** Limits of a role with what enforces each of them, except limits of cost. */
function rulesFor({ engines }: Services, { cli, program, version }: KnownCli) {
  const engine = engines.create({ kind: 'cli', cli, program, version });
  const asked: RunRequest[] = [
    { task: '', permission: 'read' },
    { task: '', permission: 'edit' },
    { task: '', permission: 'full', tools: ['Read'] },
  ];
  return asked.flatMap(request => {
    const options = optionsOf(request, {});
    const sandbox = { ...options.sandbox, level: 'workspace' as const };
    const inside = policyFor(engine, { ...options, sandbox });
    return policyFor(engine, options).map(({ rule, heldBy, note }) => ({
      rule: rule.startsWith('tools:') ? 'tools' : rule,
      ...{ heldBy, note, inSandbox: inside.find(each => each.rule === rule)?.heldBy ?? heldBy },
    }));
  });
}

const advisoryFor = (services: Services, cli: KnownCli): string[] =>
  rulesFor(services, cli)
    .filter(({ heldBy }) => heldBy === 'advisory')
    .map(({ rule, note }) => (note === null ? rule : `${rule} (${note})`));

/**
 * Every workspace that has runs, most recently used first. A workspace whose folder is gone is listed only while it has
 * live runs.
 */
export const listWorkspaces = operation({
  name: 'list_workspaces',
  route: 'GET /workspaces',
  input: z.strictObject({}),
  output: z.object({
    workspaces: z.array(
      z.object({
        path: z.string(),
        name: z.string(),
        runs: z.number(),
        /** Number of runs that have not ended. */
        live: z.number(),
        lastRunAt: z.number(),
      }),
    ),
  }),
  async run({ services: { store, runner, workspaces } }) {
    const live = runner.liveRuns().filter(({ status }) => !isEnd(status));
    const known = (await store.workspaces()).map(each => ({
      ...each,
      name: basename(each.path),
      live: live.filter(({ workspace }) => workspace === each.path).length,
    }));
    const isShown = await Promise.all(known.map(({ path, live }) => live > 0 || workspaces.isThere(path)));
    return { workspaces: known.filter((_, index) => isShown[index]) };
  },
});
