import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface EnvironmentSources {
  /** Environment of the client. */
  client: Record<string, string>;
  /** Variables that `squad install` saved, because some clients pass on few variables. */
  saved: Record<string, string>;
  home: string;
  /** Names of variables to keep, although they look like marks of another session. */
  keep?: string[];
  exists?: (folder: string) => boolean;
}

/**
 * Variables that mark a CLI's own session. With them a new agent would believe that it is part of that session.
 * Credentials and settings are not in this list.
 */
const SESSION_NAMES = new Set([
  // Claude Code: marks of its child processes, its hooks and its editor link.
  ...[
    'CLAUDECODE',
    'CLAUDE_CODE_ENTRYPOINT',
    'CLAUDE_CODE_SESSION_ID',
    'CLAUDE_CODE_SSE_PORT',
    'CLAUDE_EFFORT',
  ],
  ...['CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_ROOT', 'CLAUDE_ENV_FILE'],
  // Codex: its thread. Marks of its sandbox are below. CODEX_HOME and CODEX_API_KEY stay, because they are settings
  // of the user.
  'CODEX_THREAD_ID',
  // Gemini and Qwen: marks of their shell tools. Their editor links are below.
  ...['GEMINI_CLI', 'GEMINI_CLI_NO_RELAUNCH', 'QWEN_CODE'],
  // Cursor: CURSOR_API_KEY is not listed, because it is a credential.
  ...['CURSOR_AGENT', 'CURSOR_TRACE_ID', 'CURSOR_SESSION_ID'],
  // GitHub Copilot: COPILOT_HOME, COPILOT_MODEL, COPILOT_PROVIDER_* and its tokens are settings and not listed.
  ...['COPILOT_CLI', 'COPILOT_RUN_APP', 'COPILOT_LOADER_PID', 'COPILOT_AGENT_SESSION_ID'],
  // opencode: its other variables are settings and not listed.
  ...['OPENCODE', 'OPENCODE_PID', 'OPENCODE_RUN_ID', 'OPENCODE_SESSION_ID'],
  // Set by editors that are built on Electron or Node, for their own child processes.
  ...['ELECTRON_RUN_AS_NODE', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_UNIQUE_ID'],
  // Terminal multiplexers and shells: the pane, and the shell's variables about itself.
  ...['TMUX', 'TMUX_PANE', 'STY', 'ZELLIJ', 'ZELLIJ_PANE_ID', 'ZELLIJ_SESSION_NAME'],
  ...['PWD', 'OLDPWD', 'SHLVL', '_', 'INIT_CWD'],
]);

const SESSION_PREFIXES = [
  // Codex: permissions of its sandbox.
  'CODEX_SANDBOX',
  // Gemini and Qwen: ports and tokens of the editor that they run in.
  ...['GEMINI_CLI_IDE_', 'QWEN_CODE_IDE_'],
  // VS Code and its forks: sockets, injected debuggers and shell hooks.
  'VSCODE_',
  // npm: variables of the script that happened to be running.
  'npm_',
  // git: in a git hook these variables name the user's repository, index and author, and an agent's git would write
  // there.
  'GIT_',
];

/** Variables to keep despite the prefixes above: VS Code answers git's password prompts through them. */
const KEPT_PREFIXES = ['VSCODE_GIT_'];

/** Squad's own variables: the identity of a run, settings of the hub, and the client's timeout. */
const SQUAD_NAMES = new Set([
  ...['SQUAD_RUN_ID', 'SQUAD_TURN', 'SQUAD_UPSTREAM', 'SQUAD_SERVER_OF'],
  ...['SQUAD_DATABASE_URL', 'SQUAD_HUB_LINGER_MS'],
  ...['MCP_DATABASE_PATH', 'MCP_SERVER_PORT', 'MCP_LOG_LEVEL', 'MCP_TOOL_TIMEOUT', 'MCP_TIMEOUT'],
]);
const SQUAD_PREFIXES = ['SQUAD_TOKEN', 'SQUAD_MCP_'];

/**
 * Folders where installers put agent CLIs and which are missing in the PATH of desktop clients. Relative to the home
 * folder, or absolute.
 */
const INSTALL_FOLDERS = [
  '.local/bin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '.npm-global/bin',
  '.bun/bin',
  '.cargo/bin',
  'bin',
];

/**
 * Builds an agent's environment: the client's environment with missing variables added, without variables of another
 * session.
 */
export function childEnvironment(sources: EnvironmentSources): Record<string, string> {
  const merged = { ...sources.saved, ...sources.client };
  const kept = Object.entries(merged).filter(([name]) => !isLeftOut(name, sources.keep ?? []));
  return { ...Object.fromEntries(kept), PATH: completePath(sources) };
}

function isLeftOut(name: string, keep: string[]): boolean {
  const startsWithOneOf = (prefixes: string[]): boolean => prefixes.some(prefix => name.startsWith(prefix));
  if (SQUAD_NAMES.has(name) || startsWithOneOf(SQUAD_PREFIXES)) return true;
  if (keep.includes(name)) return false;
  return SESSION_NAMES.has(name) || (startsWithOneOf(SESSION_PREFIXES) && !startsWithOneOf(KEPT_PREFIXES));
}

/** The client's folders come first, then the saved ones. The PATH of a desktop client is set, but short. */
function completePath({ client, saved, home, exists = existsSync }: EnvironmentSources): string {
  const known = INSTALL_FOLDERS.map(folder => (folder.startsWith('/') ? folder : join(home, folder)));
  const folders = [client.PATH, saved.PATH].flatMap(path => path?.split(':') ?? []);
  // An empty part of PATH would mean the current folder, which is the agent's workspace.
  return [...new Set([...folders.filter(folder => folder !== ''), ...known.filter(exists)])].join(':');
}
