import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { nearest } from '../../base/text.ts';
import { offThread } from '../../core/off-thread.ts';
import { schemaFault } from '../../core/output/structured-answer.ts';
import type { EngineChoice, Engines } from '../../core/ports/engine.ts';
import type { FoundClis } from '../../core/ports/machines.ts';
import type { Caller, IgnoredSetting, Workspaces } from '../../core/ports/workspace.ts';
import { engineNotTrusted, NOT_TRUSTED, resolveConfig, trustableFiles } from '../../core/settings/config.ts';
import type { Config } from '../../schema/config.ts';
import { CLI_IDS, type EngineSpec, type InstalledCli } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import type { Role } from '../../schema/role.ts';
import { JsonSchema } from '../../schema/run.ts';
import { jsonProblem, placeOf } from '../files/json-file.ts';
import { resolveInside } from '../files/paths.ts';
import { readInside } from '../files/text-file.ts';
import { untrustedMcpConfig } from '../gateway/mcp-config-file.ts';
import { readAgentTemplates, templateFolders } from '../roles/agent-templates.ts';
import { contextOf } from '../roles/context-files.ts';
import { namedRolesFolder, readRole, readRoles, rolesFolder, type Trust } from '../roles/roles.ts';
import { dropHomeTeamFolders, homeTeamFolder, readTeamFile, teamFolder } from '../team/team-file.ts';
import { createTeamMemories } from '../team/team-memory.ts';
import { readConfigFiles } from './config-files.ts';
import { resolveCwd, workspaceRoot } from './cwd.ts';
import { isTrusted } from './trust.ts';

export interface ChoiceContext {
  config: Config;
  ignored: IgnoredSetting[];
  /** Engines from a workspace file that is not trusted. */
  untrustedEngines: readonly string[];
  engines: Pick<Engines, 'find' | 'installed'>;
  /** Agent CLIs of another machine, where the run is placed. */
  on?: FoundClis;
}

/**
 * Chooses the engine. A name from a call or a role means a configured engine, a built-in one, or else a value for the
 * run template. Without a name, the template runs with the configured name. Without a template, the configured name
 * counts, then the first usable CLI. A named engine or template that cannot be used is an error, and no other engine
 * runs instead.
 */
export async function chooseEngine(
  asked: string | null,
  env: Record<string, string>,
  { config, ignored, untrustedEngines, engines, on }: ChoiceContext,
): Promise<EngineChoice> {
  const ignoredSetting = (key: keyof Config) => ignored.find(setting => setting.key === key);
  const refuse = (setting: IgnoredSetting | undefined) => {
    if (setting) throw unusable(setting);
  };
  const isTemplateSet = config.runTemplate.value !== null || ignoredSetting('runTemplate') !== undefined;
  const template = (engineCommand: string): EngineChoice => {
    refuse(ignoredSetting('runTemplate'));
    if (config.stateMode.value === 'stateful') refuse(ignoredSetting('createChatTemplate'));
    return plain({
      kind: 'template',
      id: 'template',
      runTemplate: config.runTemplate.value!,
      createChatTemplate: config.createChatTemplate.value,
      engineCommand,
      parser: 'text',
    });
  };
  if (asked === null) {
    refuse(ignoredSetting('engine'));
    if (isTemplateSet) return template(config.engine.value ?? '');
  }
  const name = asked ?? config.engine.value;
  if (name === null) return firstInstalled(env, engines, on);
  if (untrustedEngines.includes(name)) refuse(ignoredSetting('engines'));
  const own = config.engines.value[name];
  if (own && 'acp' in own) return plain({ kind: 'acp', id: name, command: own.acp });
  if (own)
    return plain({
      kind: 'template',
      id: name,
      runTemplate: own.runTemplate,
      createChatTemplate: own.createChatTemplate ?? null,
      engineCommand: name,
      parser: own.parser,
    });
  if (name === 'scripted') return plain({ kind: 'scripted' });
  if (name === 'native') return plain({ kind: 'native', subagent: null, inputs: [] });
  const cli = await engines.find(name, env, on);
  if (!cli && isTemplateSet) return template(name);
  if (!cli) throw unknown(name, asked === null ? config.engine.source : null, config);
  const { warning, cli: id, program, version } = cli;
  return { spec: { kind: 'cli', cli: id, program, version }, notes: warning === null ? [] : [warning] };
}

function unusable({ file, reason }: IgnoredSetting): SquadError {
  if (reason === NOT_TRUSTED) return engineNotTrusted(file);
  return new SquadError('CONFIG_INVALID', `The engine is set in ${file}, but ${reason}`, {
    suggestions: [
      'Fix or remove the file.',
      'Or choose an engine for this run: `engine` in the call, or `--engine claude` in a terminal.',
    ],
  });
}

async function firstInstalled(
  env: Record<string, string>,
  engines: ChoiceContext['engines'],
  on: FoundClis | undefined,
): Promise<EngineChoice> {
  const { first, tooOld } = await firstUsable(env, engines, on);
  if (!first && tooOld) throw tooOld;
  if (!first)
    throw new SquadError('ENGINE_NOT_SET', 'No engine is set and no agent CLI was found', {
      suggestions: [
        `Install one of ${CLI_IDS.join(', ')}, or set RUN_TEMPLATE to the command that runs an agent.`,
        'With an API key and no agent CLI: use `--engine native` (or ENGINE_COMMAND=native) and choose a model, for example `--model anthropic/…`.',
        'For a dry run without any model: use `--engine scripted` (or ENGINE_COMMAND=scripted).',
      ],
    });
  const { cli, program, version, warning } = first;
  return {
    spec: { kind: 'cli', cli, program, version },
    notes: [
      `No engine is set: using ${cli}${version === null ? '' : ` ${version}`}, the first one found (ENGINE_COMMAND sets another).`,
      ...(warning === null ? [] : [warning]),
    ],
  };
}

/** The first installed CLI that is not too old. */
async function firstUsable(
  env: Record<string, string>,
  engines: ChoiceContext['engines'],
  on: FoundClis | undefined,
): Promise<{ first: InstalledCli | null; tooOld: SquadError | null }> {
  let tooOld: SquadError | null = null;
  for (const first of await engines.installed(env, on)) {
    try {
      await engines.find(first.cli, env, on);
      return { first, tooOld };
    } catch (thrown) {
      if (!(thrown instanceof SquadError && thrown.code === 'ENGINE_TOO_OLD')) throw thrown;
      tooOld ??= thrown;
    }
  }
  return { first: null, tooOld };
}

/**
 * Error for an unknown engine. `source` says where its name is configured, and is null if a call or a role gave the
 * name.
 */
function unknown(name: string, source: string | null, config: Config): SquadError {
  const names = [...Object.keys(config.engines.value), ...CLI_IDS, 'native', 'scripted'];
  const near = nearest(name, names);
  const from = source === null ? '' : ` (set in ${source})`;
  return new SquadError('ENGINE_UNKNOWN', `There is no engine "${name}"${from}, and no run template is set`, {
    suggestions: [
      ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
      `Engines: ${names.join(', ')}. To run any other command, set RUN_TEMPLATE or add it under "engines" in the configuration.`,
    ],
  });
}

const plain = (spec: EngineSpec): EngineChoice => ({ spec, notes: [] });

const MAX_SCHEMA_BYTES = 256 * 1024;

/** JSON Schema for a run's answer, from a file of the workspace. Throws SCHEMA_INVALID. */
export async function readOutputSchema(root: string, file: string): Promise<JsonSchema> {
  const text = await readInside(root, file, MAX_SCHEMA_BYTES).catch(thrown => {
    throw refuse(file, thrown instanceof Error ? thrown.message : String(thrown));
  });
  // Reports line and column only. JSON.parse would quote from the file, which may be any file of the workspace.
  const problem = await offThread('json', jsonProblem, text.length, text);
  if (problem) {
    const { line, column } = placeOf(text, problem.offset);
    throw refuse(file, `is not JSON: line ${line}, column ${column}: ${problem.message}`);
  }
  const parsed = JsonSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw refuse(file, 'is not an object');
  const fault = await schemaFault(parsed.data);
  if (fault !== null) throw refuse(file, `is not a JSON Schema: ${fault}`);
  return parsed.data;
}

const refuse = (file: string, why: string) =>
  new SquadError('SCHEMA_INVALID', `The output schema ${file} ${why}`, {
    suggestions: [
      'Give the path of a JSON Schema file inside the workspace, relative to its root. Nothing was started.',
    ],
  });

interface WorkspacesOptions {
  home: string;
  shippedRoles: string;
  /** Folder of the templates that come with Squad. */
  shippedTemplates: string;
  /** Names of Squad's own tools. */
  ownTools: ReadonlySet<string>;
  environment: Workspaces['environment'];
  engines: Pick<Engines, 'find' | 'installed'>;
  /** Called once for each fault of a role or template, not again at every read. */
  onFault(file: string, fault: string): void;
}

/** Reads a workspace's files at every call, so that edits take effect at once. */
export function createWorkspaces({
  home,
  shippedRoles,
  shippedTemplates,
  ownTools,
  environment,
  engines,
  onFault,
}: WorkspacesOptions): Workspaces {
  const reported = new Set<string>();
  const teamOf = createTeamMemories();
  const reportFaults = <T extends Pick<Role, 'file' | 'fault'>>(found: T[]): T[] => {
    for (const { file, fault } of found) {
      if (fault === null || reported.has(`${file}\0${fault}`)) continue;
      reported.add(`${file}\0${fault}`);
      onFault(file, fault);
    }
    return found;
  };
  const environmentOf = (caller: Caller) => ({ HOME: homedir(), ...caller.env });
  const rootOf = async (caller: Caller, env: Record<string, string> & { HOME: string }) =>
    workspaceRoot({
      flag: caller.workspace ?? undefined,
      isHeader: caller.cwd === null,
      env,
      cwd: caller.cwd ?? noFolder(caller, env),
      userHome: env.HOME,
      roots: caller.roots,
    });
  const templatesIn = (workspace: string | null, env: Record<string, string>, kind: 'tool' | 'prompt') =>
    readAgentTemplates({
      kind,
      folders: templateFolders(kind, { workspace, env, shipped: shippedTemplates }),
      reserved: kind === 'tool' ? ownTools : NONE,
      isTrusted: (file, text) => isTrusted(home, file, text),
    });
  return {
    environment,
    root: async caller => (await rootOf(caller, environmentOf(caller))).root,
    isThere: isFolder,
    keepTeamFilesOf: known => dropHomeTeamFolders(home, known),
    async templates(caller, kind) {
      const env = environmentOf(caller);
      // Without a workspace, the user's and the shipped templates are still available. A call that needs the
      // workspace reports the error.
      const root = await rootOf(caller, env).then(
        found => found.root,
        () => null,
      );
      return reportFaults(await templatesIn(root, env, kind));
    },
    async needsRoots(caller) {
      const env = environmentOf(caller);
      if (caller.parent || caller.workspace !== null || caller.env.SQUAD_WORKSPACE) return false;
      return rootOf({ ...caller, roots: [] }, env).then(
        () => false,
        () => true,
      );
    },
    async open(caller) {
      const env = environmentOf(caller);
      const { root, notes } = await rootOf(caller, env);
      // The search for the roles folder starts while the configuration is read, because every start of an agent waits
      // for both.
      const usualFolder = rolesFolder(root, shippedRoles);
      usualFolder.catch(() => {}); // an error here is ignored, because the configuration may name another roles folder
      const sources = await readConfigFiles({ workspace: root, home, env });
      const { config, ignored } = resolveConfig(sources);
      const { workspaceFile } = sources;
      const untrustedEngines =
        workspaceFile && !workspaceFile.trusted ? Object.keys(workspaceFile.settings.engines ?? {}) : [];
      const folder = (await namedRolesFolder(root, config.agentsDir)) ?? (await usualFolder);
      // Shipped roles, and roles in a folder that the user named, are trusted. Roles in the workspace came with it
      // and are not.
      const isOwn =
        folder.from === 'shipped' || (folder.from === 'setting' && config.agentsDir.origin !== 'workspace');
      // A role file that agents can write to must not grant them anything, even if the user named its folder.
      const reach = folder.from === 'shipped' ? [root] : [root, ...config.allowedRoots.value];
      let isOutOfReach: Promise<boolean> | undefined;
      const byContent: Trust = async (file, text) => {
        isOutOfReach ??= isOwn ? liesOutside(reach, folder.directory) : Promise.resolve(false);
        return (await isOutOfReach) || isTrusted(home, file, text);
      };
      const mayGrant: Trust = caller.parent || !isOwn ? byContent : async () => true;
      /** Cached, because members of a squad often have the same role. */
      const known = new Map<string, Promise<Role>>();
      return {
        root,
        notes,
        config,
        ignored,
        rolesFolder: { folder: folder.directory, reason: folder.why },
        roles: async () => reportFaults(await readRoles(folder, mayGrant)),
        role: id => {
          const role = known.get(id) ?? readRole(folder, id, mayGrant);
          known.set(id, role);
          return role;
        },
        engine: (name, env, on) =>
          chooseEngine(name, env, { config, ignored, untrustedEngines, engines, on }),
        outputSchema: file => readOutputSchema(root, file),
        context: async (wanted, loadedByEngine) => contextOf(root, config, wanted, loadedByEngine),
        teamFile: async name => {
          // An unusable team folder counts as missing. The writer of team files logs the error.
          const own = await teamFolder(root).catch(() => null);
          return readTeamFile(join(own ?? homeTeamFolder(home, root), name));
        },
        team: teamOf(root),
        directory: async (cwd, within = root) =>
          (await resolveCwd({ workspace: within, cwd, allowedRoots: config.allowedRoots.value })).directory,
        untrusted: async used => [
          ...trustableFiles(sources)
            .filter(({ trusted }) => !trusted)
            .map(({ file }) => file),
          ...(await untrustedMcpConfig(home, root)),
          ...(await readRoles(folder, byContent))
            .filter(role => role.ungranted.length > 0 && (used?.includes(role.id) ?? true))
            .map(role => role.file),
          ...(used
            ? []
            : [...(await templatesIn(root, env, 'tool')), ...(await templatesIn(root, env, 'prompt'))]
          )
            .filter(template => template.needsTrust)
            .map(template => template.file),
        ],
      };
    },
  };
}

const NONE: ReadonlySet<string> = new Set();

/** Names of roles and custom engines, for completion. Untrusted ones are included, because a name grants nothing. */
export async function projectNames({
  workspace,
  home,
  env,
  shippedRoles,
}: {
  workspace: string;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  shippedRoles: string;
}): Promise<{ roles: Pick<Role, 'id' | 'description'>[]; engines: string[] }> {
  const { config } = resolveConfig(await readConfigFiles({ workspace, home, env }));
  const folder =
    (await namedRolesFolder(workspace, config.agentsDir)) ?? (await rolesFolder(workspace, shippedRoles));
  return {
    roles: await readRoles(folder, async () => true),
    engines: Object.keys(config.engines.value),
  };
}

async function liesOutside(folders: string[], path: string): Promise<boolean> {
  const places = await Promise.all(folders.map(folder => resolveInside(folder, path)));
  return !places.some(place => 'real' in place);
}

function noFolder(caller: Caller, env: Record<string, string>): string {
  if (caller.workspace !== null || env.SQUAD_WORKSPACE || caller.roots?.length) return '/';
  throw new SquadError('WORKSPACE_UNSET', 'The request does not name a workspace', {
    suggestions: ['Send the header "Squad-Workspace: /absolute/path", or set SQUAD_WORKSPACE.'],
  });
}

async function isFolder(root: string): Promise<boolean> {
  try {
    return (await stat(root)).isDirectory();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // A disk that does not respond, or a folder without permission, may be available later.
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}
