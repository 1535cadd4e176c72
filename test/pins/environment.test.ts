import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { TestSquad, until } from '../support/squad.ts';
import { type Squad, startAndWait, strictCall, wholeStream } from '../support/tools.ts';

const squad = new TestSquad();
afterAll(() => squad[Symbol.asyncDispose]());

/** Variables of a client that runs inside a session of an agent CLI. Agents must get none of them. */
const LEFT_OUT = {
  CLAUDECODE: '1',
  CLAUDE_CODE_ENTRYPOINT: 'cli',
  CLAUDE_CODE_SESSION_ID: 's',
  CLAUDE_CODE_SSE_PORT: '1',
  CODEX_SANDBOX: 'seatbelt',
  CODEX_SANDBOX_NETWORK_DISABLED: '1',
  CODEX_THREAD_ID: 't',
  GEMINI_CLI: '1',
  GEMINI_CLI_IDE_SERVER_PORT: '1',
  QWEN_CODE: '1',
  CURSOR_AGENT: '1',
  CURSOR_TRACE_ID: 't',
  COPILOT_CLI: '1',
  OPENCODE: '1',
  OPENCODE_PID: '1',
  VSCODE_IPC_HOOK_CLI: '/x',
  ELECTRON_RUN_AS_NODE: '1',
  NODE_CHANNEL_FD: '3',
  TMUX: '/tmp/x,1,0',
  npm_config_cache: '/x',
  INIT_CWD: '/x',
  SQUAD_TOKEN: 'secret',
  SQUAD_TOKEN_FILE: 'secret',
  SQUAD_TURN: '9',
  MCP_TOOL_TIMEOUT: '30000',
  MCP_SERVER_PORT: '0',
  GIT_DIR: '/x',
  GIT_INDEX_FILE: '/x',
  GIT_WORK_TREE: '/x',
  GIT_AUTHOR_NAME: 'x',
};

/** Credentials and settings, which an agent needs. */
const HANDED_DOWN = {
  ANTHROPIC_API_KEY: 'k',
  OPENAI_API_KEY: 'k',
  CODEX_HOME: '/x',
  CURSOR_API_KEY: 'k',
  GEMINI_API_KEY: 'k',
  COPILOT_MODEL: 'm',
  VSCODE_GIT_ASKPASS_MAIN: '/x',
  HTTPS_PROXY: 'http://127.0.0.1:1',
  WORDS: 'two words "quoted" $HOME\nand a line',
};

const asMap = (nulSeparated: string) =>
  Object.fromEntries(
    nulSeparated
      .split('\0')
      .filter(Boolean)
      .map(entry => entry.split(/=(.*)/s, 2) as [string, string]),
  );

describe("the agent's environment", () => {
  test("is the asking client's, without any session's marks and any of Squad's secrets, and tagged", {
    tags: ['S4'],
  }, async () => {
    const client = await squad.client({ env: { ...LEFT_OUT, ...HANDED_DOWN, RUN_TEMPLATE: 'env -0' } });
    const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    const id = members[0]!.memberId;
    const env = asMap(await wholeStream(client, id, 'stdout'));
    expect(env).toMatchObject(HANDED_DOWN);
    expect(env).toMatchObject({
      SQUAD_RUN_ID: id,
      SQUAD_TURN: '1',
      SQUAD_HOME: squad.home,
      HOME: join(squad.root, 'user'),
      PWD: squad.workspace,
    });
    const gone = Object.keys(LEFT_OUT).filter(name => name !== 'SQUAD_TURN');
    expect(Object.keys(env).filter(name => gone.includes(name))).toEqual([]);
    expect(Object.values(env).filter(value => value === 'secret')).toEqual([]);
  });

  test("is nothing of the hub's, which another client may have started", { tags: ['S4'] }, async () => {
    const first = await squad.client({ env: { ONLY_FIRST: '1', RUN_TEMPLATE: 'env -0' } });
    const second = await squad.client({ env: { RUN_TEMPLATE: 'env -0' } });
    const member = { members: [{ roleId: 'coder', task: 'x' }] };
    expect((await startAndWait(first, member)).members[0]!.rawStdout).toContain('ONLY_FIRST=1');
    expect((await startAndWait(second, member)).members[0]!.rawStdout).not.toContain('ONLY_FIRST');
  });

  test('is on disk only while the run lives, and for its owner only', { tags: ['S5'] }, async () => {
    const client = await squad.client({
      env: { PRIVATE_KEY: 'shh', ENGINE_COMMAND: 'scripted', MCP_TOOL_TIMEOUT: '50' },
    });
    const { members } = await strictCall<Squad>(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task: 'x\n```script\nawait end-it\n```' }],
    });
    const file = join(squad.home, 'runs', members[0]!.memberId, 'environment.json');
    expect(JSON.parse(readFileSync(file, 'utf8')).PRIVATE_KEY).toBe('shh');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(squad.home).mode & 0o777).toBe(0o700);
    squad.write('end-it', '');
    await until('the run is over and its environment gone', () => !existsSync(file));
  });
});
