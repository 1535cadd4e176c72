import { expect, test } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import type { RunOptions } from '../../schema/run.ts';
import { CHAT, ENDPOINT, rehearsal } from '../testing/contract.ts';
import { qwenCommand } from './qwen-command.ts';

async function build(options: Partial<RunOptions> = {}, changes: Partial<TurnInput> = {}) {
  const { input, written } = rehearsal({ options: { ...PLAIN_OPTIONS, ...options }, ...changes });
  return { ...(await qwenCommand(input, { program: '/bin/qwen' })), written };
}

test('the whole command of a first turn', async () => {
  const { argv, written } = await build(
    { outputSchema: { type: 'object' } },
    { chatId: CHAT, model: 'qwen-x', endpoint: ENDPOINT },
  );
  expect(argv).toEqual([
    '/bin/qwen',
    '--output-format=stream-json',
    '--approval-mode=auto-edit',
    '--allowed-tools=run_shell_command',
    '--allowed-mcp-server-names=squad',
    '--mcp-config=/squad/turn/mcp.json',
    '--model=qwen-x',
    '--json-schema=@/squad/turn/schema.json',
    `--session-id=${CHAT}`,
  ]);
  expect(JSON.parse(written.get('mcp.json')!)).toEqual({
    mcpServers: { squad: { ...ENDPOINT.relay, trust: true } },
  });
});

test("quiet settings are defaults, which the user's own settings outrank", async () => {
  const { env, written } = await build();
  expect(env.QWEN_CODE_SYSTEM_DEFAULTS_PATH).toBe('/squad/turn/settings.json');
  expect(JSON.parse(written.get('settings.json')!)).toMatchObject({
    general: { enableAutoUpdate: false },
    memory: { enableManagedAutoMemory: false },
  });
  const theirs = { QWEN_CODE_SYSTEM_DEFAULTS_PATH: '/etc/theirs.json' };
  expect((await build({}, { env: theirs })).env).toMatchObject(theirs);
});

test.each([
  [{ permission: 'edit' }, ['--approval-mode=auto-edit', '--allowed-tools=run_shell_command']],
  [{ permission: 'full' }, ['--approval-mode=yolo']],
  [
    { permission: 'read', tools: ['Bash', 'Grep'] },
    [
      '--approval-mode=default',
      '--core-tools=grep_search',
      '--exclude-tools=agent,skill,enter_worktree,exit_worktree,record_artifact,send_message',
    ],
  ],
  [
    { tools: ['Bash', 'Task'] },
    [
      '--approval-mode=auto-edit',
      '--core-tools=run_shell_command,agent',
      '--exclude-tools=skill,enter_worktree,exit_worktree,record_artifact,send_message',
      '--allowed-tools=run_shell_command',
    ],
  ],
] as [Partial<RunOptions>, string[]][])('%j is %j', async (options, expected) => {
  const { argv } = await build(options);
  expect(argv.slice(2, argv.indexOf('--input-format=stream-json'))).toEqual(expected);
});

test('a turn reads lines, and sees the tools that need permission only if it can ask', async () => {
  const silent = await build({ permission: 'read' }, { chatId: CHAT });
  expect(silent.isFed).toBe(true);
  expect(silent.argv).toContain('--core-tools=read_file,glob,grep_search,list_directory');
  const { argv, stdin, isFed } = await build({ approvals: 'ask', permission: 'read' }, { chatId: CHAT });
  expect({ stdin, isFed }).toEqual({ stdin: null, isFed: true });
  expect(argv).toContain('--input-format=stream-json');
  expect(argv).toContain('--approval-mode=default');
  expect(argv.find(flag => flag.startsWith('--core-tools='))).toMatch(/run_shell_command.*write_file/);
});

test.each([{ promptOnly: true }, { machine: 'box' }, { outputSchema: {} }] as const)(
  'with %j it only reads its prompt',
  async more => {
    const { argv, isFed } = await build({ approvals: 'ask', ...more });
    expect(isFed).toBeUndefined();
    expect(argv).not.toContain('--input-format=stream-json');
  },
);
