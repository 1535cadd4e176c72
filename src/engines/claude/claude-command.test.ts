import { describe, expect, test } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import type { RunOptions } from '../../schema/run.ts';
import { CHAT, ENDPOINT, rehearsal } from '../testing/contract.ts';
import { claudeCommand } from './claude-command.ts';
import { claudePolicy } from './claude-permissions.ts';

async function build(options: Partial<RunOptions> = {}, changes: Partial<TurnInput> = {}) {
  const { input, written } = rehearsal({ options: { ...PLAIN_OPTIONS, ...options }, ...changes });
  return { ...(await claudeCommand(input, { program: '/bin/claude' })), written };
}

test('the whole command of a first turn', async () => {
  const { argv, env, written } = await build(
    { effort: 'low', budgetUsd: 1.5, outputSchema: { type: 'object' } },
    { chatId: CHAT, model: 'sonnet', endpoint: ENDPOINT },
  );
  expect(argv).toEqual([
    '/bin/claude',
    ...['-p', '--output-format', 'stream-json', '--verbose'],
    ...['--input-format', 'stream-json', '--replay-user-messages'],
    '--permission-mode=acceptEdits',
    '--allowedTools=Read,Glob,Grep,LS,Bash,WebFetch,WebSearch,mcp__squad',
    '--strict-mcp-config',
    '--mcp-config=/squad/turn/mcp.json',
    '--model=sonnet',
    '--effort=low',
    '--max-budget-usd=1.5',
    '--json-schema={"type":"object"}',
    ...['--session-id', CHAT],
  ]);
  expect(env).toMatchObject({
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ENABLE_TOOL_SEARCH: 'false',
    CLAUDE_CODE_MAX_RETRIES: '4',
  });
  expect(JSON.parse(written.get('mcp.json')!).mcpServers.squad.headers.Authorization).toBe(
    `Bearer ${ENDPOINT.token}`,
  );
});

test("the user's own servers stay out also when Squad cannot be reached", {
  tags: ['settings-that-come-with-a-repository'],
}, async () => {
  const { argv, written } = await build();
  expect(argv).toContain('--strict-mcp-config');
  expect(argv.join()).not.toContain('mcp__squad');
  expect(written.size).toBe(0);
});

test('the number of retries is for the user to change', async () => {
  const { env } = await build({}, { env: { CLAUDE_CODE_MAX_RETRIES: '9' } });
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('9');
});

test('a budget that is only told is not given to it', async () => {
  expect((await build({ budgetUsd: 2, stopAtBudget: false })).argv.join()).not.toContain('budget');
});

test('a chat that is no UUID is refused: it would be taken for a title', async () => {
  await expect(build({}, { chatId: 'my notes', continues: true })).rejects.toMatchObject({
    code: 'CHAT_UNKNOWN',
  });
});

test('an effort it does not know is refused instead of passed over', async () => {
  await expect(build({ effort: 'enormous' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('a schema too long for an argument is refused', async () => {
  const outputSchema = { type: 'object', description: 'x'.repeat(150_000) };
  await expect(build({ outputSchema })).rejects.toMatchObject({ code: 'ARGUMENT_TOO_LONG' });
});

test('full permission is refused only to root, and only where nobody said that this is a sandbox', async () => {
  const asked = build({ permission: 'full' }, { env: {} });
  if (process.getuid?.() === 0) await expect(asked).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  else expect((await asked).argv).toContain('--dangerously-skip-permissions');
  expect((await build({ permission: 'full' })).argv).toContain('--dangerously-skip-permissions');
});

describe('permissions', () => {
  const flags = async (options: Partial<RunOptions>) =>
    (await build(options)).argv.filter(flag => /tools|permission/i.test(flag));

  test('read has the tools that look and no others, whatever was asked for', async () => {
    expect(await flags({ permission: 'read' })).toEqual([
      '--tools=Read,Glob,Grep,LS',
      '--permission-mode=dontAsk',
      '--allowedTools=Read,Glob,Grep,LS',
    ]);
    expect(await flags({ permission: 'read', tools: ['Bash', 'Read', 'Write'] })).toEqual([
      '--tools=Read',
      '--permission-mode=dontAsk',
      '--allowedTools=Read',
    ]);
  });

  test('writing tools get no rule, which would let them write anywhere', async () => {
    for (const edit of ['Edit', 'Edit(//var/**)', 'Edit(~/notes/**)'])
      expect(await flags({ tools: [edit, 'Read'] })).toEqual([
        '--tools=Edit,Read',
        '--permission-mode=acceptEdits',
        '--allowedTools=Read',
      ]);
  });

  test('without a writing tool no edits are accepted: commands would pass as such', async () => {
    expect(await flags({ tools: ['Bash(git log *)', 'mcp__mine__find'] })).toEqual([
      '--tools=Bash',
      '--permission-mode=dontAsk',
      '--allowedTools=Bash(git log *),mcp__mine__find',
    ]);
  });

  test('no tools at all', async () => {
    expect(await flags({ tools: [] })).toEqual(['--tools=', '--permission-mode=dontAsk']);
  });

  test('only full has the flag that skips all checks', async () => {
    for (const permission of ['read', 'edit'] as const)
      expect(await flags({ permission })).not.toContain('--dangerously-skip-permissions');
    expect(await flags({ permission: 'full', tools: ['Read'] })).toEqual([
      '--tools=Read',
      '--dangerously-skip-permissions',
    ]);
  });

  describe('with somebody to ask', () => {
    const flags = async (options: Partial<RunOptions>, endpoint: TurnInput['endpoint'] = ENDPOINT) =>
      (await build({ approvals: 'ask', ...options }, { endpoint })).argv.filter(flag =>
        /tools|permission/i.test(flag),
      );
    const PROMPTS = [
      '--permission-prompt-tool=stdio',
      '--disallowedTools=EnterPlanMode,ExitPlanMode,mcp__squad__ask_permission',
    ];

    test('read has the other tools too, and only what looks goes unasked', async () => {
      expect(await flags({ permission: 'read' })).toEqual([
        '--tools=Read,Glob,Grep,LS,Edit,Write,MultiEdit,NotebookEdit,Bash,WebFetch,WebSearch,AskUserQuestion',
        '--permission-mode=default',
        ...PROMPTS,
        '--allowedTools=Read,Glob,Grep,LS,mcp__squad',
      ]);
      expect(await flags({ permission: 'read', tools: ['Read', 'Bash(git log *)'] })).toEqual([
        '--tools=Read,Bash,AskUserQuestion',
        '--permission-mode=default',
        ...PROMPTS,
        '--allowedTools=Read,mcp__squad',
      ]);
    });

    test('edit may do what it may without, and asks for the rest', async () => {
      expect(await flags({ permission: 'edit' })).toEqual([
        '--permission-mode=acceptEdits',
        ...PROMPTS,
        '--allowedTools=Read,Glob,Grep,LS,Bash,WebFetch,WebSearch,mcp__squad',
      ]);
      expect(await flags({ permission: 'edit', tools: ['Bash(git log *)'] })).toEqual([
        '--tools=Bash,AskUserQuestion',
        '--permission-mode=default',
        ...PROMPTS,
        '--allowedTools=Bash(git log *),mcp__squad',
      ]);
    });

    test('full has nothing to ask for', async () => {
      expect(await flags({ permission: 'full' })).toEqual(['--dangerously-skip-permissions']);
    });

    test('the agent reads lines while it works, and asks also where it cannot reach Squad', async () => {
      const fed = await build({ approvals: 'ask', permission: 'read' });
      expect(fed).toMatchObject({ stdin: null, isFed: true });
      expect(fed.argv.join(' ')).toContain('--input-format stream-json --replay-user-messages');
      expect(fed.argv).toContain('--permission-prompt-tool=stdio');
      for (const other of [{ machine: 'box' }, { approvals: 'ask', promptOnly: true }] as const)
        expect(await build(other)).not.toHaveProperty('isFed');
    });

    test('on another machine it asks by a call of Squad, or cannot ask', async () => {
      const there = { permission: 'read', machine: 'box' } as const;
      expect(await flags(there)).toContain('--permission-prompt-tool=mcp__squad__ask_permission');
      expect(await flags(there, null)).toEqual([
        '--tools=Read,Glob,Grep,LS',
        '--permission-mode=dontAsk',
        '--allowedTools=Read,Glob,Grep,LS',
      ]);
    });

    test('its call waits as long as its turn lasts, whatever the user set for other servers', async () => {
      const env = { MCP_TOOL_TIMEOUT: '5000' };
      const changes = { endpoint: ENDPOINT, env, timeoutMs: 900_000 };
      const asking = await build({ approvals: 'ask', machine: 'box' }, changes);
      expect(asking.env.MCP_TOOL_TIMEOUT).toBe('900000');
      expect((await build({ approvals: 'ask' }, changes)).env.MCP_TOOL_TIMEOUT).toBe('5000');
      expect((await build({}, { endpoint: ENDPOINT, env })).env.MCP_TOOL_TIMEOUT).toBe('5000');
    });

    test('the policy says how far that limit holds', () => {
      const rules = (options: Partial<RunOptions>) =>
        claudePolicy({ ...PLAIN_OPTIONS, approvals: 'ask', ...options });
      const rule = 'approvals: ask';
      expect(rules({ permission: 'edit' })).toContainEqual(
        expect.objectContaining({ rule, heldBy: 'engine' }),
      );
      expect(rules({ permission: 'full' })).toContainEqual(
        expect.objectContaining({ rule, heldBy: 'advisory' }),
      );
      const [read, , tools] = rules({ permission: 'read', tools: ['Bash'] });
      expect(read?.note).toContain('the user is asked');
      expect(tools?.note).toContain('asked for, because permission is read: Bash');
      expect(claudePolicy(PLAIN_OPTIONS).map(each => each.rule)).not.toContain(rule);
    });
  });

  test("the policy says what a shell and the user's own settings make of edit", () => {
    const edit = (tools: string[] | null) => claudePolicy({ ...PLAIN_OPTIONS, tools })[0];
    const note = (words: string) => ({ heldBy: 'advisory', note: expect.stringContaining(words) });
    expect(edit(null)).toMatchObject({ rule: 'permission: edit', ...note('a command it runs') });
    expect(edit(['Bash(git log *)'])).toMatchObject(note('a command it runs'));
    expect(edit(['Edit'])).toMatchObject(note('settings let them'));
    expect(edit(['Read', 'WebFetch', 'mcp__squad__x'])).toMatchObject({ heldBy: 'engine' });
  });

  test('the policy says how far a rule in brackets holds', () => {
    const tools = (permission: RunOptions['permission'], ...asked: string[]) =>
      claudePolicy({ ...PLAIN_OPTIONS, permission, tools: asked }).find(({ rule }) =>
        rule.startsWith('tools'),
      );
    expect(tools('edit', 'Bash', 'Edit')).toMatchObject({ heldBy: 'engine', note: null });
    expect(tools('edit', 'Bash(git log *)')?.note).toContain('unless');
    for (const rule of [
      tools('edit', 'Edit(src/**)'),
      tools('read', 'Read(src/**)'),
      tools('full', 'Bash(ls)'),
    ])
      expect(rule).toMatchObject({ heldBy: 'advisory', note: expect.stringContaining('is not enforced') });
  });

  test('tools that reading only leaves out are named', () => {
    const rules = claudePolicy({ ...PLAIN_OPTIONS, permission: 'read', tools: ['Bash', 'Read'] });
    expect(rules[1]).toMatchObject({ heldBy: 'engine', note: expect.stringContaining('Bash') });
  });
});
