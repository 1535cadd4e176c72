import { describe, expect, test } from 'vitest';
import { childEnvironment } from './environment.ts';

const build = (client: Record<string, string>, saved: Record<string, string> = {}, folders: string[] = []) =>
  childEnvironment({ client, saved, home: '/home/me', exists: folder => folders.includes(folder) });

describe('the environment of an agent', () => {
  test("is the client's, with what it lacks from the saved one", { tags: ['S4'] }, () => {
    const env = build(
      { PATH: '/bin', LANG: 'de', EMPTY: '' },
      { LANG: 'en', ANTHROPIC_API_KEY: 'k', EMPTY: 'x' },
    );
    expect(env).toEqual({ PATH: '/bin', LANG: 'de', EMPTY: '', ANTHROPIC_API_KEY: 'k' });
  });

  test("has the client's PATH first, then the saved one, then install folders that exist, each once", () => {
    const folders = ['/home/me/.local/bin', '/usr/local/bin', '/home/me/.cargo/bin'];
    const env = build({ PATH: '/usr/bin::/bin' }, { PATH: '/nvm/bin:/usr/bin:/usr/local/bin' }, folders);
    expect(env.PATH).toBe('/usr/bin:/bin:/nvm/bin:/usr/local/bin:/home/me/.local/bin:/home/me/.cargo/bin');
  });

  test('keeps what a role names, unless it is Squad’s own', { tags: ['A12'] }, () => {
    const client = { PATH: '/bin', TMUX: 'pane', CLAUDECODE: '1', SQUAD_RUN_ID: 'run_1', SQUAD_TOKEN: 't' };
    const keep = ['TMUX', 'SQUAD_RUN_ID', 'SQUAD_TOKEN'];
    expect(childEnvironment({ client, saved: {}, home: '/h', exists: () => false, keep })).toEqual({
      PATH: '/bin',
      TMUX: 'pane',
    });
  });

  test('looks in every known install folder', () => {
    const looked: string[] = [];
    childEnvironment({ client: {}, saved: {}, home: '/h', exists: folder => looked.push(folder) < 0 });
    expect(looked).toEqual([
      '/h/.local/bin',
      '/usr/local/bin',
      '/opt/homebrew/bin',
      '/h/.npm-global/bin',
      '/h/.bun/bin',
      '/h/.cargo/bin',
      '/h/bin',
    ]);
  });

  test.each([
    ...[
      'CLAUDECODE',
      'CLAUDE_CODE_ENTRYPOINT',
      'CLAUDE_CODE_SESSION_ID',
      'CLAUDE_CODE_SSE_PORT',
      'CLAUDE_EFFORT',
    ],
    ...['CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_ROOT', 'CLAUDE_ENV_FILE'],
    ...['CODEX_SANDBOX', 'CODEX_SANDBOX_NETWORK_DISABLED', 'CODEX_THREAD_ID'],
    ...[
      'GEMINI_CLI',
      'GEMINI_CLI_NO_RELAUNCH',
      'GEMINI_CLI_IDE_SERVER_PORT',
      'QWEN_CODE',
      'QWEN_CODE_IDE_SERVER_PORT',
    ],
    ...['CURSOR_TRACE_ID', 'CURSOR_AGENT', 'CURSOR_SESSION_ID'],
    ...['COPILOT_CLI', 'COPILOT_RUN_APP', 'COPILOT_LOADER_PID', 'COPILOT_AGENT_SESSION_ID'],
    ...['OPENCODE', 'OPENCODE_PID', 'OPENCODE_RUN_ID', 'OPENCODE_SESSION_ID'],
    ...[
      'VSCODE_IPC_HOOK',
      'VSCODE_IPC_HOOK_CLI',
      'VSCODE_PID',
      'VSCODE_INSPECTOR_OPTIONS',
      'VSCODE_INJECTION',
    ],
    ...['ELECTRON_RUN_AS_NODE', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_UNIQUE_ID'],
    ...['TMUX', 'TMUX_PANE', 'STY', 'ZELLIJ', 'ZELLIJ_PANE_ID', 'ZELLIJ_SESSION_NAME'],
    ...[
      'PWD',
      'OLDPWD',
      'SHLVL',
      '_',
      'INIT_CWD',
      'npm_lifecycle_event',
      'npm_config_prefix',
      'npm_package_name',
    ],
    ...[
      'SQUAD_RUN_ID',
      'SQUAD_TURN',
      'SQUAD_TOKEN',
      'SQUAD_TOKEN_FILE',
      'SQUAD_MCP_URL',
      'SQUAD_MCP_TOKEN',
      'SQUAD_DATABASE_URL',
      'SQUAD_HUB_LINGER_MS',
    ],
    ...['MCP_DATABASE_PATH', 'MCP_SERVER_PORT', 'MCP_LOG_LEVEL', 'MCP_TOOL_TIMEOUT', 'MCP_TIMEOUT'],
    ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_OBJECT_DIRECTORY', 'GIT_PREFIX'],
    ...['GIT_AUTHOR_NAME', 'GIT_SSH_COMMAND', 'GIT_ASKPASS', 'GIT_CONFIG_COUNT', 'GIT_EXEC_PATH'],
  ])('leaves out %s, from either source', name => {
    expect(build({ [name]: 'x' }, { [name]: 'y' })).toEqual({ PATH: '' });
  });

  test.each([
    ...[
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_BASE_URL',
      'CLAUDE_CONFIG_DIR',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
    ],
    ...[
      'OPENAI_API_KEY',
      'CODEX_HOME',
      'CODEX_API_KEY',
      'GEMINI_API_KEY',
      'GEMINI_MODEL',
      'GOOGLE_CLOUD_PROJECT',
    ],
    ...[
      'CURSOR_API_KEY',
      'COPILOT_HOME',
      'COPILOT_MODEL',
      'COPILOT_PROVIDER_API_KEY',
      'COPILOT_GITHUB_TOKEN',
    ],
    ...[
      'OPENCODE_CONFIG',
      'OPENCODE_CONFIG_CONTENT',
      'GITHUB_TOKEN',
      'NPM_TOKEN',
      'NODE_OPTIONS',
      'NODE_EXTRA_CA_CERTS',
    ],
    ...[
      'HOME',
      'SHELL',
      'TERM',
      'SSH_AUTH_SOCK',
      'HTTPS_PROXY',
      'VSCODE_GIT_ASKPASS_MAIN',
      'SQUAD_HOME',
      'STATE_MODE',
    ],
  ])('keeps %s', name => {
    expect(build({ [name]: 'x' })).toEqual({ PATH: '', [name]: 'x' });
  });
});
