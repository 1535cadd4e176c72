import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';
import { footprint, lastSeq, storedEvents } from '../../support/stored.ts';
import { isValid, type Refused, startAndWait, strictCall, wholeStream } from '../../support/tools.ts';

const squad = new TestSquad();
const outside = join(squad.root, 'outside');
let client: Client;

beforeAll(async () => {
  mkdirSync(outside);
  squad.write('agents/coder.md', '---\nname: Coder\n---\nYou code.');
  squad.write('agents/code-reviewer.md', 'You review.');
  squad.write('agents/broken.md', '---\nname: [never closed\n---\nBody');
  squad.write('agents/mistyped.md', '---\ntimeout: soon\n---\nBody');
  squad.write('secret.md', 'not a role');
  squad.write('file.txt', 'a file');
  symlinkSync(outside, join(squad.workspace, 'way-out'));
  symlinkSync('nowhere', join(squad.workspace, 'dangling'));
  await squad.unlimited();
  client = await squad.client({ env: { RUN_TEMPLATE: 'cat' }, name: 'tester' });
});
afterAll(() => squad[Symbol.asyncDispose]());

const call = (args: Record<string, unknown>, on = client) =>
  on.callTool({ name: 'start_squad_members', arguments: args });

/** Makes a call that must be refused, and sees to it that the refusal is all that is left of it. */
async function refused(args: Record<string, unknown>, on = client): Promise<Refused['error']> {
  const [before, seq] = [await footprint(squad), await lastSeq(squad)];
  const result = await call(args, on);
  expect(result.isError).toBe(true);
  const { error } = result.structuredContent as unknown as Refused;
  expect(JSON.stringify(result.structuredContent).length).toBeLessThan(12_000);
  expect(error.suggestions?.length).toBeGreaterThan(0);
  expect(await footprint(squad)).toEqual(before);
  expect(await storedEvents(squad, seq)).toMatchObject([
    {
      type: 'tool.called',
      data: { tool: 'start_squad_members', client: expect.any(String), ok: false, code: error.code },
    },
  ]);
  return error;
}

const one = (member: Record<string, unknown>) => ({ members: [{ roleId: 'coder', task: 'x', ...member }] });

describe('a role', () => {
  test('that is not there is refused with the nearest names', { tags: ['R27'] }, async () => {
    const error = await refused(one({ roleId: 'codre' }));
    expect(error).toMatchObject({ code: 'ROLE_UNKNOWN', message: expect.stringContaining('"codre"') });
    expect(error.suggestions).toContain('Did you mean coder?');
  });

  test.each(['../secret', 'agents/coder', '/etc/passwd', 'coder.md', '', 'coder\0', '.', 'COD\ud800'])(
    'is looked up by its id and never made into a path: %j',
    async roleId => {
      expect(await refused(one({ roleId }))).toMatchObject({ code: 'ROLE_UNKNOWN' });
    },
  );

  test('with broken frontmatter is refused with file and line', async () => {
    const error = await refused(one({ roleId: 'broken' }));
    expect(error.code).toBe('ROLE_INVALID');
    expect(error.message).toMatch(/agents\/broken\.md: line \d: /);
  });

  test('with a value of the wrong kind is refused with what it may be', async () => {
    const error = await refused(one({ roleId: 'mistyped' }));
    expect(error.code).toBe('ROLE_INVALID');
    expect(error.message).toContain('line 2: "timeout" must be a time');
  });

  test('that is broken is listed under its id all the same', { tags: ['A1'] }, async () => {
    const { roles } = await strictCall<{ roles: unknown[] }>(client, 'list_roles');
    expect(roles).toContainEqual({ id: 'broken', name: 'broken', description: '' });
  });

  test('that is bad in one member refuses the whole call and names the member', {
    tags: ['A2'],
  }, async () => {
    const error = await refused({
      members: [
        { roleId: 'coder', task: 'fine' },
        { roleId: 'nobody', task: 'fine' },
      ],
    });
    expect(error.message).toMatch(/^members\[1\] \(nobody\): There is no role "nobody"/);
    expect(error.suggestions).toContain('Nothing was started.');
  });
});

describe('a task', () => {
  test.each(['', ' ', '\n\t\n'])('that says nothing is refused: %j', async task => {
    expect(await refused(one({ task }))).toMatchObject({ code: 'TASK_EMPTY' });
  });

  test('with a NUL is refused with its place', async () => {
    const error = await refused(one({ task: 'first\nsec\0ond' }));
    expect(error).toMatchObject({
      code: 'INVALID_TEXT',
      message: expect.stringContaining('line 2, column 4'),
    });
  });

  test.each(['a \ud800 b', '\udc00', 'end \ud83d'])(
    'with half a surrogate pair is refused: %j',
    async task => {
      expect(await refused(one({ task }))).toMatchObject({
        code: 'INVALID_TEXT',
        message: expect.stringContaining('half of a surrogate pair'),
      });
    },
  );

  const NASTY = [
    `'single' "double" \`backticks\` $(touch pwned) \${HOME} $HOME ; touch pwned | cat & < > \\ \\\\`,
    '--version\n-rf /',
    '<%= 1 + 1 %> <% throw 1 %> {{x}} %s %n\r\n\ttab\u0007bell\u001b[31mred',
    "'; touch pwned; echo '",
    'ünïcödé 😀 \u202eright to left',
  ];

  test.each(NASTY)(
    'full of things that mean something elsewhere arrives byte for byte: %j',
    { tags: ['A6'] },
    async task => {
      const templates = {
        stdin: 'cat',
        argument: 'printf %s "<%= prompt %>"',
        'a bare task': 'printf %s <%= task %>',
        'a file': 'cat <%= promptFile %>',
      };
      for (const [way, RUN_TEMPLATE] of Object.entries(templates)) {
        const on = await squad.client({ env: { RUN_TEMPLATE } });
        const { members } = await startAndWait(on, one({ task }));
        expect([way, members[0]!.status]).toEqual([way, 'completed']);
        const whole = await wholeStream(on, members[0]!.memberId, 'stdout');
        // A lone value that would be read as an option is moved behind a newline.
        const expected = way === 'a bare task' ? (task.startsWith('-') ? `\n${task}` : task) : task;
        expect(whole).toContain(expected);
        if (way === 'a bare task') expect(whole).toBe(expected);
        await on.close();
      }
      expect(existsSync(join(squad.workspace, 'pwned'))).toBe(false);
    },
  );

  test('of 5 MB reaches an agent that reads its standard input', async () => {
    const task = `${'0123456789abcdef'.repeat(327_680)}END`;
    const on = await squad.client({ env: { RUN_TEMPLATE: 'wc -c' } });
    const { members } = await startAndWait(on, one({ task }));
    expect(members[0]!.status).toBe('completed');
    expect(Number(members[0]!.rawStdout)).toBeGreaterThan(5 * 1024 * 1024);
  });

  test('of 5 MB is refused where the template makes it an argument, with the way that works', async () => {
    const on = await squad.client({ env: { RUN_TEMPLATE: 'printf %s <%= task %>' } });
    const error = await refused(one({ task: 'x'.repeat(5 * 1024 * 1024) }), on);
    expect(error.code).toBe('ARGUMENT_TOO_LONG');
    expect(error.suggestions!.join()).toContain('<%= promptFile %>');
  });
});

describe('a folder', () => {
  test.each([
    ['that is missing', 'no/such', 'CWD_MISSING'],
    ['that is a file', 'file.txt', 'CWD_NOT_A_FOLDER'],
    ['outside by dots', '../outside', 'CWD_OUTSIDE_WORKSPACE'],
    ['outside by its path', '/', 'CWD_OUTSIDE_WORKSPACE'],
    ['outside by a link', 'way-out', 'CWD_OUTSIDE_WORKSPACE'],
    ['that is missing outside', '../nowhere', 'CWD_OUTSIDE_WORKSPACE'],
    ['that is a link to nowhere', 'dangling', 'CWD_MISSING'],
    ['with a NUL', 'a\0b', 'INVALID_TEXT'],
  ])('%s is refused', async (_, cwd, code) => {
    expect(await refused(one({ cwd }))).toMatchObject({ code });
  });

  test('outside works once the user has allowed it, and only from the user file', {
    tags: ['A9'],
  }, async () => {
    const config = join(squad.root, 'user', '.config', 'squad');
    mkdirSync(config, { recursive: true });
    squad.write('../user/.config/squad/config.json', JSON.stringify({ allowedRoots: [outside] }));
    const on = await squad.client({ env: { RUN_TEMPLATE: 'pwd' } });
    const { members } = await startAndWait(on, {
      members: [
        { roleId: 'coder', task: 'x', cwd: outside },
        { roleId: 'coder', task: 'x', cwd: 'way-out' },
      ],
    });
    expect(members.map(member => member.rawStdout)).toEqual([`${outside}\n`, `${outside}\n`]);
    squad.write('../user/.config/squad/config.json', '{}');
    squad.write('.squad/squad.json', JSON.stringify({ allowedRoots: [outside] }));
    expect(await refused(one({ cwd: outside }), on)).toMatchObject({ code: 'CONFIG_INVALID' });
    squad.write('.squad/squad.json', '{}');
  });
});

describe('a template', () => {
  test.each([
    ['with a syntax error', 'cat <% if (chatId { %> x <% } %>', 'TEMPLATE_INVALID', 'syntax error'],
    ['with an unknown variable', 'cat <%= promt %>', 'TEMPLATE_INVALID', '"promt"'],
    ['with an open quote', 'cat "<%= task %>', 'TEMPLATE_INVALID', 'never closed'],
    ['with a pipe', 'cat | tee x', 'TEMPLATE_INVALID', 'needs a shell for "|"'],
    ['with a variable of the shell', 'cat $HOME', 'TEMPLATE_INVALID', 'needs a shell for "$HOME"'],
    ['with an assignment', 'A=1 cat', 'TEMPLATE_INVALID', 'needs a shell for "A="'],
    ['with raw output', 'cat <%~ task %>', 'TEMPLATE_INVALID', '<%~'],
    ['that is a missing file', 'no/such.template', 'TEMPLATE_MISSING', 'no/such.template'],
    ['whose program is not there', 'no-such-program', 'ENGINE_NOT_FOUND', '"no-such-program"'],
    ['whose program cannot be run', './file.txt', 'ENGINE_NOT_EXECUTABLE', 'file.txt'],
    ['that begins with a value of the caller', '<%= task %>', 'TEMPLATE_INVALID', '<%= task %>'],
    ['that begins with an engine nobody set', '<%= engine %> -p', 'ENGINE_NOT_SET', '<%= engine %>'],
  ])('%s refuses the call', async (_, RUN_TEMPLATE, code, words) => {
    const on = await squad.client({ env: { RUN_TEMPLATE } });
    expect(await refused(one({}), on)).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test('and no engine at all refuses the call and says what to set', async () => {
    const error = await refused(one({}), await squad.client({}));
    expect(error.code).toBe('ENGINE_NOT_SET');
    expect(error.suggestions!.join()).toContain('RUN_TEMPLATE');
  });

  test('and an engine that is not built in refuses the call', async () => {
    const on = await squad.client({ env: { ENGINE_COMMAND: 'clod' } });
    expect(await refused(one({}), on)).toMatchObject({ code: 'ENGINE_UNKNOWN' });
  });

  test('a chat id that would be read as an option refuses the call', async () => {
    const on = await squad.client({
      env: { STATE_MODE: 'stateful', RUN_TEMPLATE: 'echo <%= chatId %>', CREATE_CHAT_TEMPLATE: 'echo c' },
    });
    expect(await refused(one({ chatId: '--help' }), on)).toMatchObject({ code: 'ARGUMENT_LOOKS_LIKE_FLAG' });
  });
});

describe('a setting', () => {
  test.each([
    ['STATE_MODE', { STATE_MODE: 'sometimes' }],
    ['PROCESS_TIMEOUT_MS', { PROCESS_TIMEOUT_MS: '10s' }],
  ])('that makes no sense is refused by its name: %s', async (name, env) => {
    const on = await squad.client({ env: { RUN_TEMPLATE: 'cat', ...env } });
    expect(await refused(one({}), on)).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(name),
    });
  });

  test('a roles folder that is not there is refused by where it was set', async () => {
    const on = await squad.client({ env: { RUN_TEMPLATE: 'cat', SQUAD_AGENTS_DIR: 'no-roles' } });
    expect(await refused(one({}), on)).toMatchObject({
      code: 'ROLES_MISSING',
      message: expect.stringContaining('SQUAD_AGENTS_DIR'),
    });
  });

  test.each([
    ['/', 'is the whole file system'],
    [join(squad.root, 'user'), 'is your home folder'],
    [join(squad.root, 'gone'), 'does not exist'],
  ])('a workspace that cannot be one is refused with how to set it: %s', async (SQUAD_WORKSPACE, why) => {
    const on = await squad.client({ env: { RUN_TEMPLATE: 'cat', SQUAD_WORKSPACE } });
    const error = await refused(one({}), on);
    expect(error).toMatchObject({ code: 'WORKSPACE_REFUSED', message: expect.stringContaining(why) });
    expect(error.suggestions!.join()).toContain('--workspace');
  });
});

describe('arguments of the wrong shape', () => {
  const MALFORMED: [string, Record<string, unknown>][] = [
    ['no members', {}],
    ['members that are no list', { members: 'coder' }],
    ['an empty list', { members: [] }],
    ['a member that is no object', { members: ['coder'] }],
    ['a task that is no text', one({ task: 7 })],
    ['a role that is missing', { members: [{ task: 'x' }] }],
    ['a key nobody knows', one({ prompt: 'x' })],
    ['another key nobody knows', { ...one({}), wait: true }],
    ['metadata that is no object', { ...one({}), metadata: 'x' }],
    ['a chat in stateless mode', one({ chatId: 'c' })],
    ['1001 members', { members: Array.from({ length: 1001 }, () => ({ roleId: 'coder', task: 'x' })) }],
  ];

  test.each(MALFORMED)('are refused as the schema says: %s', async (_, args) => {
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(tool => tool.name === 'start_squad_members')!;
    expect(isValid(inputSchema, args)).toBe(false);
    expect(await refused(args)).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('a thousand mistakes give a short message', async () => {
    const error = await refused({ members: Array.from({ length: 900 }, () => ({})) });
    expect(error.message).toContain('and 1795 more');
  });

  test.each([
    ['cwd', one({ cwd: './'.repeat(5000) })],
    ['chatId', one({ chatId: 'c'.repeat(5000) })],
    ['metadata', { ...one({}), metadata: { text: 'm'.repeat(5000) } }],
  ])('and values that would not fit into a result are refused: %s', async (key, args) => {
    const on = await squad.client({ env: { STATE_MODE: 'stateful', RUN_TEMPLATE: 'cat' } });
    expect(await refused(args, on)).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(key),
    });
  });

  test('a message that quotes megabytes is cut', async () => {
    const error = await refused(one({ roleId: 'r'.repeat(5_000_000) }));
    expect(error.message.length).toBeLessThan(3000);
  });
});

test('an unknown tool is refused as the protocol says, and the attempt is on record', {
  tags: ['D7', 'D8'],
}, async () => {
  const seq = await lastSeq(squad);
  await expect(client.callTool({ name: 'start_squad', arguments: {} })).rejects.toThrow(
    'Unknown tool: start_squad',
  );
  expect(await storedEvents(squad, seq)).toMatchObject([
    { type: 'tool.called', data: { tool: 'start_squad', ok: false, code: 'UNKNOWN_OPERATION' } },
  ]);
});

test('a member that cannot be started is an error while the others complete', {
  tags: ['A2'],
}, async () => {
  squad.script('no-interpreter.sh', 'echo never', '/no/such/interpreter');
  // The program of the template exists and is executable: only starting it shows that it cannot run.
  const broken = await squad.client({ env: { RUN_TEMPLATE: './no-interpreter.sh' } });
  const alone = await startAndWait(broken, one({}));
  expect(alone).toMatchObject({
    status: 'failed',
    members: [
      {
        status: 'error',
        rawStdout: '',
        error: { code: 'SPAWN_FAILED', message: expect.stringContaining('could not be started') },
      },
    ],
  });
  squad.write('roles/fine.md', '---\nengine: echo\n---\nbody');
  squad.write('roles/bad.md', '---\nengine: ./no-interpreter.sh\n---\nbody');
  const mixed = await squad.client({
    env: { RUN_TEMPLATE: '<%= engine %> <%= roleId %>', SQUAD_AGENTS_DIR: 'roles' },
  });
  const { members } = await startAndWait(mixed, {
    members: [
      { roleId: 'fine', task: 'x' },
      { roleId: 'bad', task: 'x' },
      { roleId: 'fine', task: 'x' },
    ],
  });
  expect(members).toMatchObject([
    { status: 'completed', rawStdout: 'fine\n' },
    { status: 'error', error: { code: 'SPAWN_FAILED' } },
    { status: 'completed', rawStdout: 'fine\n' },
  ]);
});
