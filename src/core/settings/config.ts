import { isAbsolute, join, resolve } from 'node:path';
import type {
  Config,
  ConfigOrigin,
  EngineBlock,
  Setting,
  UserFile,
  WorkspaceFile,
} from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { StateMode } from '../../schema/run.ts';
import { isWeaker, type NetworkAccess, type SandboxLevel } from '../../schema/sandbox.ts';
import type { IgnoredSetting } from '../ports/workspace.ts';

/** All settings as found in their sources, before precedence is applied. */
export interface ConfigSources {
  workspace: string;
  env: Readonly<Record<string, string | undefined>>;
  workspaceFile: (SettingsFile<WorkspaceFile> & Trustable) | null;
  /** True if `agentsDir` of the workspace file leads out of the workspace, possibly by a link. */
  agentsDirLeadsOut: boolean;
  /** Content of `templates/run-agent.template` and `templates/create-chat.template`. */
  workspaceTemplates: Record<TemplateKey, TemplateFile | null>;
  userFile: SettingsFile<UserFile> | null;
  /** The `.template` files that settings name, by absolute path; missing files are absent. */
  namedTemplates: ReadonlyMap<string, TemplateFile>;
}

type TemplateKey = 'runTemplate' | 'createChatTemplate';

export interface SettingsFile<T> {
  file: string;
  /** Folder to which relative paths in the file refer. */
  base: string;
  text: string;
  settings: T;
}

/** Content that may have come with a workspace. `trusted` is true if the user has trusted exactly this content. */
interface Trustable {
  trusted: boolean;
}

export interface TemplateFile extends Trustable {
  file: string;
  text: string;
  /** Error of reading the template file. It is reported only if the template is used. Null if the file was read. */
  fault: string | null;
}

/** A template setting is the template text itself, or the path of a file that ends in `.template`. */
export function templatePath(setting: string, base: string): string | null {
  const path = setting.trim();
  return path.endsWith('.template') && !path.includes('\n') ? resolve(base, path) : null;
}

/**
 * Whether a workspace file sets anything that takes effect only once it is trusted, apart from `agentsDir`, which
 * depends on its target.
 */
export const needsTrust = (settings: WorkspaceFile): boolean =>
  settings.sandbox === 'off' ||
  settings.network === 'full' ||
  (
    ['engine', 'engines', 'runTemplate', 'createChatTemplate', 'onEnd', 'onAsk', 'worktree', 'check'] as const
  ).some(key => settings[key] !== undefined);

/** Files of a workspace that have no effect until trusted. `squad trust` shows and records them. */
export function trustableFiles(sources: ConfigSources): { file: string; text: string; trusted: boolean }[] {
  const { workspace, workspaceFile, agentsDirLeadsOut, workspaceTemplates, namedTemplates } = sources;
  const settings = workspaceFile?.settings;
  const templates = [settings?.runTemplate, settings?.createChatTemplate].filter(
    setting => setting !== undefined,
  );
  const weakened = weakens(sources, 'sandbox') || weakens(sources, 'network');
  const grants = (settings && needsTrust(settings)) || agentsDirLeadsOut || weakened;
  const files = [
    ...(workspaceFile && grants ? [workspaceFile] : []),
    ...templates.map(setting => namedTemplates.get(templatePath(setting, workspace) ?? '')),
    ...Object.values(workspaceTemplates),
  ].filter(file => file !== undefined && file !== null);
  const readable = files.filter(file => !('fault' in file) || file.fault === null);
  return [...new Map(readable.map(({ file, text, trusted }) => [file, { file, text, trusted }])).values()];
}

/** Error for a file that names the engine or its command and is not trusted. */
export const engineNotTrusted = (file: string): SquadError =>
  new SquadError(
    'ENGINE_NOT_TRUSTED',
    `The engine is set in ${file}, which came with the workspace and is not trusted yet`,
    {
      suggestions: [
        'Read the file, then run `squad trust`.',
        'Or name the engine of this run: `engine` in the call, or `--engine claude` in a terminal.',
      ],
    },
  );

/**
 * A source that can set a value, such as a file or a variable. A source is read only if no source before it sets the
 * value, so an error in an overridden source does no harm.
 */
interface Candidate<T> {
  origin: ConfigOrigin;
  source: string;
  read(): T;
  /** Why the value must be ignored, with the file that contains it. Null if the value may be used. */
  barred?(): { file: string; reason: string } | null;
}

export const NOT_TRUSTED =
  'the file came with the workspace and is not trusted yet: read it, then run `squad trust`';

function fromEnv<T>(
  { env }: ConfigSources,
  variable: string,
  read: (text: string) => T,
): Candidate<T> | null {
  const text = env[variable];
  if (!isSet(text)) return null;
  return { origin: 'environment', source: variable, read: () => read(text) };
}

function fromWorkspace<K extends keyof WorkspaceFile, T>(
  { workspaceFile }: ConfigSources,
  key: K,
  read: (value: NonNullable<WorkspaceFile[K]>, source: string, base: string) => T,
  { needsTrust }: { needsTrust: boolean },
): Candidate<T> | null {
  const value = workspaceFile?.settings[key];
  if (!workspaceFile || !isSet(value)) return null;
  const { file, base, trusted } = workspaceFile;
  return {
    origin: 'workspace',
    source: file,
    read: () => read(value, file, base),
    barred: () => (needsTrust && !trusted ? { file, reason: NOT_TRUSTED } : null),
  };
}

function fromUser<K extends keyof UserFile, T>(
  { userFile }: ConfigSources,
  key: K,
  read: (value: NonNullable<UserFile[K]>, source: string, base: string) => T,
): Candidate<T> | null {
  const value = userFile?.settings[key];
  if (!userFile || !isSet(value)) return null;
  return { origin: 'user', source: userFile.file, read: () => read(value, userFile.file, userFile.base) };
}

function wrongValue(source: string, value: unknown, allowed: string): never {
  throw new SquadError('CONFIG_INVALID', `${source} is ${JSON.stringify(value)}; it must be ${allowed}.`, {
    suggestions: [
      `Change it to ${allowed}, or remove it.`,
      '`squad config show` shows where each value comes from.',
    ],
  });
}

/** An empty variable counts as not set, because client configurations use an empty value for that. */
function isSet<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}

interface ResolvedConfig {
  config: Config;
  ignored: IgnoredSetting[];
}

/** Precedence: environment, workspace, user, default. The first value that is set wins, and its source is recorded. */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const ignored: IgnoredSetting[] = [];
  const pick = <T>(key: keyof Config, candidates: Candidates<T>, otherwise: T): Setting<T> => {
    for (const candidate of candidates) {
      if (!candidate) continue;
      const barred = candidate.barred?.();
      if (barred) ignored.push({ file: barred.file, key, reason: barred.reason });
      else return { value: candidate.read(), origin: candidate.origin, source: candidate.source };
    }
    return { value: otherwise, origin: 'default', source: 'default' };
  };
  const config: Config = {
    stateMode: pick('stateMode', stateModes(sources), 'stateless'),
    engine: pick<string | null>('engine', engines(sources), null),
    runTemplate: pick<string | null>('runTemplate', templates(sources, 'runTemplate', 'RUN_TEMPLATE'), null),
    createChatTemplate: pick<string | null>(
      'createChatTemplate',
      templates(sources, 'createChatTemplate', 'CREATE_CHAT_TEMPLATE'),
      null,
    ),
    agentsDir: pick<string | null>('agentsDir', agentsDirs(sources), null),
    processTimeoutMs: pick('processTimeoutMs', timeouts(sources), DEFAULT_TIMEOUT_MS),
    engines: pick('engines', enginesOf(sources), {}),
    context: pick('context', fromFiles(sources, 'context', { needsTrust: false }), {}),
    onEnd: pick<string[] | null>('onEnd', fromFiles(sources, 'onEnd', { needsTrust: true }), null),
    onAsk: pick<string[] | null>('onAsk', fromFiles(sources, 'onAsk', { needsTrust: true }), null),
    worktree: pick('worktree', fromFiles(sources, 'worktree', { needsTrust: true }), {}),
    review: pick('review', fromFiles(sources, 'review', { needsTrust: false }), {}),
    check: pick<string[] | null>('check', fromFiles(sources, 'check', { needsTrust: true }), null),
    sandbox: pick<SandboxLevel | null>('sandbox', confinements(sources, 'sandbox'), null),
    network: pick<NetworkAccess | null>('network', confinements(sources, 'network'), null),
    sandboxRead: pick('sandboxRead', userPaths(sources, 'sandboxRead'), []),
    allowedRoots: pick('allowedRoots', userPaths(sources, 'allowedRoots'), []),
  };
  return { config, ignored };
}

const DEFAULT_TIMEOUT_MS = 30 * 60_000;
/** Longest delay of a Node timer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

type Candidates<T> = (Candidate<T> | null)[];

function stateModes(sources: ConfigSources): Candidates<StateMode> {
  return [
    fromEnv(sources, 'STATE_MODE', text => {
      const mode = StateMode.safeParse(text.trim());
      return mode.success ? mode.data : wrongValue('STATE_MODE', text, 'stateless or stateful');
    }),
    fromWorkspace(sources, 'stateMode', value => value, { needsTrust: false }),
    fromUser(sources, 'stateMode', value => value),
  ];
}

function engines(sources: ConfigSources): Candidates<string> {
  return [
    fromEnv(sources, 'ENGINE_COMMAND', text => text.trim()),
    fromWorkspace(sources, 'engine', value => value.trim(), { needsTrust: true }),
    fromUser(sources, 'engine', value => value.trim()),
  ];
}

function templates(sources: ConfigSources, key: TemplateKey, variable: string): Candidates<string> {
  const { workspace, workspaceFile, workspaceTemplates, namedTemplates } = sources;
  const text = (setting: string, source: string, base: string) => {
    const path = templatePath(setting, base);
    return path === null ? setting : contentOf(namedTemplates.get(path) ?? missing(path, source));
  };
  const given = fromWorkspace(sources, key, text, { needsTrust: true });
  const named = namedTemplates.get(templatePath(workspaceFile?.settings[key] ?? '', workspace) ?? '');
  const file = workspaceTemplates[key];
  return [
    fromEnv(sources, variable, setting => text(setting, variable, workspace)),
    // Checks both files, because each may have come with the workspace: the file that names the template, and the
    // template.
    given && { ...given, barred: () => given.barred?.() ?? (named ? barredFile(named) : null) },
    file && {
      origin: 'workspace',
      source: file.file,
      read: () => contentOf(file),
      barred: () => barredFile(file),
    },
    fromUser(sources, key, text),
  ];
}

function agentsDirs(sources: ConfigSources): Candidates<string> {
  const { workspace, agentsDirLeadsOut } = sources;
  const path = (value: string, _source: string, base: string) => resolve(base, value);
  return [
    fromEnv(sources, 'SQUAD_AGENTS_DIR', text => resolve(workspace, text)),
    fromWorkspace(sources, 'agentsDir', path, { needsTrust: agentsDirLeadsOut }),
    fromUser(sources, 'agentsDir', path),
  ];
}

function timeouts(sources: ConfigSources): Candidates<number> {
  const within = (value: number, source: string, shown: unknown) =>
    Number.isSafeInteger(value) && value >= 1 && value <= MAX_TIMEOUT_MS
      ? value
      : wrongValue(source, shown, `a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
  const given = (value: number, file: string) => within(value, `processTimeoutMs in ${file}`, value);
  return [
    fromEnv(sources, 'PROCESS_TIMEOUT_MS', text =>
      within(/^\d+$/.test(text.trim()) ? Number(text) : Number.NaN, 'PROCESS_TIMEOUT_MS', text),
    ),
    fromWorkspace(sources, 'processTimeoutMs', given, { needsTrust: false }),
    fromUser(sources, 'processTimeoutMs', given),
  ];
}

/** Engines of the workspace and of the user; if both have the same name, the workspace wins. */
function enginesOf(sources: ConfigSources): Candidates<Record<string, EngineBlock>> {
  const ofUser = sources.userFile?.settings.engines;
  return [
    fromWorkspace(sources, 'engines', value => ({ ...ofUser, ...value }), { needsTrust: true }),
    fromUser(sources, 'engines', value => value),
  ];
}

/** Reads a setting that only files can contain, without conversion. */
const fromFiles = <K extends keyof WorkspaceFile & keyof UserFile>(
  sources: ConfigSources,
  key: K,
  trust: { needsTrust: boolean },
): Candidates<NonNullable<WorkspaceFile[K]> | NonNullable<UserFile[K]>> => [
  fromWorkspace(sources, key, value => value, trust),
  fromUser(sources, key, value => value),
];

/** An untrusted repository can make its runs' sandbox stricter than the user's, but never weaker. */
const confinements = <K extends 'sandbox' | 'network'>(sources: ConfigSources, key: K) =>
  fromFiles(sources, key, { needsTrust: weakens(sources, key) }) as Candidates<NonNullable<WorkspaceFile[K]>>;

function weakens({ workspaceFile, userFile }: ConfigSources, key: 'sandbox' | 'network'): boolean {
  const ofWorkspace = workspaceFile?.settings[key];
  const ofUser = userFile?.settings[key] ?? (key === 'sandbox' ? 'workspace' : 'models');
  return ofWorkspace !== undefined && isWeaker<SandboxLevel | NetworkAccess>(ofWorkspace, ofUser);
}

function userPaths(sources: ConfigSources, key: 'allowedRoots' | 'sandboxRead'): Candidates<string[]> {
  const { HOME: home } = sources.env;
  const root = (value: string, file: string) => {
    if (home && value.startsWith('~/')) return join(home, value.slice(2));
    return isAbsolute(value) ? value : wrongValue(`${key} in ${file}`, value, 'an absolute path');
  };
  return [fromUser(sources, key, (roots, file) => roots.map(value => root(value, file)))];
}

function barredFile({ file, trusted, fault }: TemplateFile): { file: string; reason: string } | null {
  if (fault !== null) return { file, reason: `the file ${fault}` };
  return trusted ? null : { file, reason: NOT_TRUSTED };
}

function contentOf({ file, text, fault }: TemplateFile): string {
  if (fault === null) return text;
  throw new SquadError('CONFIG_INVALID', `The template file ${file} ${fault}.`, {
    suggestions: ['Fix the file, or change the setting that names it.'],
  });
}

function missing(path: string, source: string): never {
  throw new SquadError('TEMPLATE_MISSING', `The template file ${path}, named by ${source}, does not exist.`, {
    suggestions: [
      'Create the file, or change the setting. A value that does not end in .template is used as the template itself.',
    ],
  });
}
