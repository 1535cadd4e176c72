import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface EnvironmentSources {
  /** Environment of the client. */
  client: Record<string, string>;
  /** Variables that `squad install` saved, for clients that pass on few. */
  saved: Record<string, string>;
  home: string;
  /** Names to keep although they look like another session's. */
  keep?: string[];
  exists?: (folder: string) => boolean;
}

/** Variables by which a CLI marks its own session; a new agent would take itself for part of it. Credentials and settings stay. */
const SESSION_NAMES = new Set([
  // Claude Code: it marks its own children, its hooks and its editor link.
  ...[
    'CLAUDECODE',
    'CLAUDE_CODE_ENTRYPOINT',
    'CLAUDE_CODE_SESSION_ID',
    'CLAUDE_CODE_SSE_PORT',
    'CLAUDE_EFFORT',
  ],
  ...['CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_ROOT', 'CLAUDE_ENV_FILE'],
  // The thread of Codex. The marks of its sandbox are below. CODEX_HOME and CODEX_API_KEY stay, because they are settings of the user.
  'CODEX_THREAD_ID',
  // Gemini and Qwen: the mark of their shell tool; their editor links are below.
  ...['GEMINI_CLI', 'GEMINI_CLI_NO_RELAUNCH', 'QWEN_CODE'],
  // Cursor. CURSOR_API_KEY is a credential.
  ...['CURSOR_AGENT', 'CURSOR_TRACE_ID', 'CURSOR_SESSION_ID'],
  // GitHub Copilot. COPILOT_HOME, COPILOT_MODEL, COPILOT_PROVIDER_* and its tokens are settings.
  ...['COPILOT_CLI', 'COPILOT_RUN_APP', 'COPILOT_LOADER_PID', 'COPILOT_AGENT_SESSION_ID'],
  // opencode. Its other names are settings.
  ...['OPENCODE', 'OPENCODE_PID', 'OPENCODE_RUN_ID', 'OPENCODE_SESSION_ID'],
  // Editors that are Node themselves: how they were started, and the pipe to their own parent.
  ...['ELECTRON_RUN_AS_NODE', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_UNIQUE_ID'],
  // The terminal's pane, and the shell's notes about itself.
  ...['TMUX', 'TMUX_PANE', 'STY', 'ZELLIJ', 'ZELLIJ_PANE_ID', 'ZELLIJ_SESSION_NAME'],
  ...['PWD', 'OLDPWD', 'SHLVL', '_', 'INIT_CWD'],
]);

const SESSION_PREFIXES = [
  // Codex: what its sandbox allows.
  'CODEX_SANDBOX',
  // Gemini and Qwen: ports and tokens of the editor they are in.
  ...['GEMINI_CLI_IDE_', 'QWEN_CODE_IDE_'],
  // VS Code and its forks: sockets, injected debuggers and shell hooks.
  'VSCODE_',
  // npm: the script that happened to be running.
  'npm_',
  // git: in a hook these name the user's repository, index and author. An agent's own git would write there.
  'GIT_',
];

/** VS Code answers git's password prompts through these. */
const KEPT_PREFIXES = ['VSCODE_GIT_'];

/** Squad's own: identity of a run, settings of the hub, and how long the client waits. */
const SQUAD_NAMES = new Set([
  ...['SQUAD_RUN_ID', 'SQUAD_TURN', 'SQUAD_UPSTREAM', 'SQUAD_SERVER_OF'],
  ...['SQUAD_DATABASE_URL', 'SQUAD_HUB_LINGER_MS'],
  ...['MCP_DATABASE_PATH', 'MCP_SERVER_PORT', 'MCP_LOG_LEVEL', 'MCP_TOOL_TIMEOUT', 'MCP_TIMEOUT'],
]);
const SQUAD_PREFIXES = ['SQUAD_TOKEN', 'SQUAD_MCP_'];

/** Folders where installers put agent CLIs and that are not in the PATH of desktop clients. Relative to the home, or absolute. */
const INSTALL_FOLDERS = [
  '.local/bin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '.npm-global/bin',
  '.bun/bin',
  '.cargo/bin',
  'bin',
];

/** An agent's environment: the client's, completed, without anything that belongs to another session. */
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

/** The client's folders first, then the saved ones: a desktop's PATH is set, but short. */
function completePath({ client, saved, home, exists = existsSync }: EnvironmentSources): string {
  const known = INSTALL_FOLDERS.map(folder => (folder.startsWith('/') ? folder : join(home, folder)));
  const folders = [client.PATH, saved.PATH].flatMap(path => path?.split(':') ?? []);
  // An empty part would mean the current folder, which is the agent's workspace.
  return [...new Set([...folders.filter(folder => folder !== ''), ...known.filter(exists)])].join(':');
}
