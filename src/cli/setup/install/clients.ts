import { join } from 'node:path';
import { homeFolder, xdgFolder } from '../../../link/home.ts';
import type { SquadProgram } from '../../own-command.ts';
import type { ConfigFormat } from './config-format.ts';
import { jsonFormat } from './json-format.ts';
import { luaFormat } from './lua-format.ts';
import { tomlFormat } from './toml-format.ts';

export interface InstallContext {
  /** The user's home folder. */
  home: string;
  env: Record<string, string | undefined>;
  platform: NodeJS.Platform;
  /** Project folder. If it is set, the project's file is written instead of the user's. */
  project?: string;
  /** The project folder, for clients that start servers outside a project; unset if there is none. */
  workspace?: string;
  program: SquadProgram;
}

export type EntryValue = string | number | boolean | string[] | Record<string, string>;
export type Entry = Record<string, EntryValue>;

export interface Client {
  title: string;
  format: ConfigFormat;
  /** Candidates: the first one that exists is edited; if none exists, the first is created. */
  userFiles(context: InstallContext): string[];
  /** Paths relative to the workspace. Empty if the client has no project file. */
  projectFiles: string[];
  /** Keys of Squad's entry in the file. */
  entryPath: [string, string];
  /** Names of the client's programs, as they appear in a list of processes. */
  programs: string[];
  /** The client takes a lock, the folder `FILE.lock`, whenever it changes the user's file. */
  takesLock?: boolean;
  /** A running client keeps the file in memory, and removes what it did not read when a setting is changed in it. */
  savesFromMemory?: boolean;
  entry(context: InstallContext): Entry;
  /** Command that starts the client in a script and lets it call the tools without asking. */
  headless?: string;
  /** Text that tells the user what to do next. */
  next(context: InstallContext): string;
}

const HOUR_MS = 3_600_000;
const SERVER = 'squad';
/** Editors show this name. */
const AGENT = 'Squad';

/** Timeout for clients that ignore progress: the server returns after 90 % of it. */
const CEILING = { MCP_TOOL_TIMEOUT: String(HOUR_MS) };

const CLIENTS = {
  'claude-code': {
    title: 'Claude Code',
    format: jsonFormat,
    userFiles: ({ home, env }) => [join(env.CLAUDE_CONFIG_DIR || home, '.claude.json')],
    projectFiles: ['.mcp.json'],
    entryPath: ['mcpServers', SERVER],
    programs: ['claude'],
    takesLock: true,
    entry: context => ({
      type: 'stdio',
      ...stdio(context),
      timeout: HOUR_MS,
      ...environment(context, CEILING),
    }),
    headless: 'claude -p --allowedTools mcp__squad',
    next: () =>
      'Start a new Claude Code session and ask it to list the squad roles; `/mcp` shows the connection.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: jsonFormat,
    userFiles: context => [join(settingsFolder(context), 'Claude', 'claude_desktop_config.json')],
    projectFiles: [],
    entryPath: ['mcpServers', SERVER],
    programs: ['claude-desktop', 'Claude'],
    entry: context => ({
      ...stdio(context),
      ...environment(context, context.workspace ? { SQUAD_WORKSPACE: context.workspace } : {}),
    }),
    next: ({ workspace }) =>
      `Quit Claude Desktop and start it again; Settings > Developer lists \`squad\`. ${
        workspace
          ? `Agents work in ${workspace}; to change that, run this again with --workspace DIR.`
          : 'It starts servers outside any project: run this again with --workspace DIR to choose one.'
      }`,
  },
  cursor: {
    title: 'Cursor',
    format: jsonFormat,
    userFiles: ({ home }) => [join(home, '.cursor', 'mcp.json')],
    projectFiles: ['.cursor/mcp.json'],
    entryPath: ['mcpServers', SERVER],
    programs: ['cursor', 'Cursor'],
    entry: context => ({ ...stdio(context), ...environment(context) }),
    next: () => 'Restart Cursor and switch `squad` on in its MCP settings.',
  },
  vscode: {
    title: 'VS Code',
    format: jsonFormat,
    userFiles: context => [join(settingsFolder(context), 'Code', 'User', 'mcp.json')],
    projectFiles: ['.vscode/mcp.json'],
    entryPath: ['servers', SERVER],
    programs: ['code', 'Code'],
    entry: context => ({ type: 'stdio', ...stdio(context), ...environment(context) }),
    next: () => 'Run "MCP: List Servers" in VS Code and start `squad`.',
  },
  codex: {
    title: 'Codex',
    format: tomlFormat,
    userFiles: ({ home, env }) => [join(env.CODEX_HOME || join(home, '.codex'), 'config.toml')],
    projectFiles: ['.codex/config.toml'],
    entryPath: ['mcp_servers', SERVER],
    programs: ['codex'],
    entry: context => ({
      ...stdio(context),
      startup_timeout_sec: 30,
      tool_timeout_sec: HOUR_MS / 1000,
      ...environment(context, CEILING),
    }),
    headless: `codex exec -c 'mcp_servers.${SERVER}.default_tools_approval_mode="approve"'`,
    next: () =>
      'Start Codex again; `/mcp` lists `squad`. A project file has an effect only in projects that Codex trusts.',
  },
  gemini: {
    title: 'Gemini CLI',
    format: jsonFormat,
    userFiles: ({ home, env }) => [join(env.GEMINI_CLI_HOME || home, '.gemini', 'settings.json')],
    projectFiles: ['.gemini/settings.json'],
    entryPath: ['mcpServers', SERVER],
    programs: ['gemini'],
    savesFromMemory: true,
    entry: context => ({ ...stdio(context), timeout: HOUR_MS, ...environment(context, CEILING) }),
    headless: 'gemini --approval-mode yolo',
    next: () => 'Start Gemini CLI again; `/mcp` lists `squad`.',
  },
  qwen: {
    title: 'Qwen Code',
    format: jsonFormat,
    userFiles: ({ home, env }) => [join(env.QWEN_HOME || join(home, '.qwen'), 'settings.json')],
    projectFiles: ['.qwen/settings.json'],
    entryPath: ['mcpServers', SERVER],
    programs: ['qwen'],
    entry: context => ({ ...stdio(context), timeout: HOUR_MS, ...environment(context, CEILING) }),
    headless: 'qwen --approval-mode yolo',
    next: () => 'Start Qwen Code again; `/mcp` lists `squad`.',
  },
  copilot: {
    title: 'Copilot CLI',
    format: jsonFormat,
    userFiles: ({ home, env }) => [join(env.COPILOT_HOME || join(home, '.copilot'), 'mcp-config.json')],
    projectFiles: [],
    entryPath: ['mcpServers', SERVER],
    programs: ['copilot'],
    entry: context => ({
      type: 'local',
      ...stdio(context),
      tools: ['*'],
      timeout: HOUR_MS,
      ...environment(context),
    }),
    headless: 'copilot --allow-tool squad',
    next: () => 'Start Copilot CLI again; `/mcp show` lists `squad`.',
  },
  opencode: {
    title: 'opencode',
    format: jsonFormat,
    userFiles: ({ home, env }) => {
      const folder = join(xdgFolder(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'opencode');
      return [join(folder, 'opencode.json'), join(folder, 'opencode.jsonc')];
    },
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    entryPath: ['mcp', SERVER],
    programs: ['opencode'],
    entry: context => ({
      type: 'local',
      command: [stdio(context).command, ...stdio(context).args],
      ...environment(context, {}, 'environment'),
      enabled: true,
      timeout: HOUR_MS,
    }),
    next: () => 'Start opencode again; `opencode mcp list` shows `squad`.',
  },
  zed: {
    title: 'Zed',
    format: jsonFormat,
    userFiles: ({ home, env }) => [
      join(xdgFolder(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'zed', 'settings.json'),
    ],
    projectFiles: [],
    entryPath: ['agent_servers', AGENT],
    programs: ['zed', 'zed-editor', 'Zed'],
    entry: context => ({ type: 'custom', ...agent(context), ...environment(context) }),
    next: () => 'Open the agent panel of Zed and start a new Squad thread.',
  },
  jetbrains: {
    title: 'JetBrains IDEs',
    format: jsonFormat,
    userFiles: ({ home }) => [join(home, '.jetbrains', 'acp.json')],
    projectFiles: [],
    entryPath: ['agent_servers', AGENT],
    programs: [
      'idea',
      'pycharm',
      'webstorm',
      'goland',
      'clion',
      'phpstorm',
      'rider',
      'rubymine',
      'rustrover',
    ],
    entry: context => ({ ...agent(context), ...environment(context) }),
    next: () => 'Open AI Chat and select Squad as the agent.',
  },
  neovim: {
    title: 'Neovim',
    format: luaFormat,
    userFiles: ({ home, env }) => [
      join(
        xdgFolder(env.XDG_CONFIG_HOME) ?? join(home, '.config'),
        ...[env.NVIM_APPNAME || 'nvim', 'lua', 'plugins', 'squad.lua'],
      ),
    ],
    projectFiles: [],
    entryPath: ['plugins', AGENT],
    programs: ['nvim'],
    entry: context => ({ ...agent(context), ...environment(context) }),
    next: () =>
      'Start Neovim again. avante.nvim: `:AvanteSwitchProvider squad`. CodeCompanion: `:CodeCompanionChat adapter=squad`. Without lazy.nvim, copy the settings from the file into your own.',
  },
} satisfies Record<string, Client>;

export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[];
export const clientNamed = (name: ClientName): Client => CLIENTS[name];

const agent = ({ program: { command, args } }: InstallContext) => ({ command, args: [...args, 'acp'] });

const stdio = ({ program: { command, args } }: InstallContext) => ({ command, args: [...args, 'mcp'] });

/** Variables of this shell that a client started elsewhere would not have. */
const SETTINGS = [
  'RUN_TEMPLATE',
  'CREATE_CHAT_TEMPLATE',
  'ENGINE_COMMAND',
  'STATE_MODE',
  'SQUAD_AGENTS_DIR',
  'PROCESS_TIMEOUT_MS',
  'SQUAD_TOOLSETS',
];

/** SQUAD_HOME, if it is not the default. A client that is started elsewhere would otherwise use the default home. */
export const movedHome = (env: InstallContext['env']): Record<string, string> =>
  env.SQUAD_HOME || xdgFolder(env.XDG_STATE_HOME) ? { SQUAD_HOME: homeFolder(env) } : {};

/** The database of the hub, if it is not the file in its home. A password is not copied into the file of a client. */
export function movedDatabase({ SQUAD_DATABASE_URL: url }: InstallContext['env']): Record<string, string> {
  if (!url || !URL.canParse(url)) return {};
  const { password, searchParams } = new URL(url);
  return password === '' && !searchParams.has('password') ? { SQUAD_DATABASE_URL: url } : {};
}

/** Variables that most clients do not pass on: a changed home and database, and the settings of this shell. */
function environment({ env }: InstallContext, variables: Record<string, string> = {}, key = 'env'): Entry {
  const settings = Object.fromEntries(SETTINGS.flatMap(name => (env[name] ? [[name, env[name]]] : [])));
  const all = { ...movedHome(env), ...movedDatabase(env), ...settings, ...variables };
  return Object.keys(all).length > 0 ? { [key]: all } : {};
}

/** Where desktop applications keep their settings. */
function settingsFolder({ home, env, platform }: InstallContext): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return xdgFolder(env.XDG_CONFIG_HOME) ?? join(home, '.config');
}
