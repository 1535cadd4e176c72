import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, TestSquad, until } from '../../support/squad.ts';
import { footprint } from '../../support/stored.ts';
import { type Refused, type Squad, startAndWait, strictCall } from '../../support/tools.ts';

const squad = new TestSquad();

beforeAll(async () => {
  squad.write('agents/coder.md', 'You code.');
  squad.script(
    'create-chat.sh',
    [
      'echo "starting up"',
      'n=$(cat chat-count 2>/dev/null || echo 0); n=$((n + 1)); echo "$n" >chat-count',
      'printf "some words\\n\\n  chat-%s  \\n\\n\\n" "$n"',
    ].join('\n'),
  );
  squad.script('agent.sh', 'printf "chat=%s\\n" "$1"; cat "$2"');
  squad.script('waits.sh', 'echo "$1" >started-"$1"; while [ ! -e release-"$1" ]; do sleep 0.05; done');
  squad.script('fails.sh', 'echo chat-lost; echo "no account" >&2; exit 9');
  squad.script('mute.sh', 'echo; echo "   "');
  squad.script('long.sh', 'printf "%01001d\\n" 7');
  squad.script('bell.sh', "printf 'chat\\0071\\n'");
  squad.script('nul.sh', "printf 'chat\\0001\\n'");
  squad.script('latin.sh', "printf 'caf\\351\\n'");
  squad.script('slow.sh', 'echo $$ >slow-pid; echo chat-slow; sleep 60');
  squad.script('hangs.sh', 'echo here >chat-hangs; sleep 60');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const STATEFUL = {
  STATE_MODE: 'stateful',
  RUN_TEMPLATE: './agent.sh <%= chatId %> <%= promptFile %>',
  CREATE_CHAT_TEMPLATE: './create-chat.sh',
};
const open = (env: Record<string, string> = {}) => squad.client({ env: { ...STATEFUL, ...env } });
const one = (task: string, more: Record<string, unknown> = {}) => ({
  members: [{ roleId: 'coder', task, ...more }],
});
const start = async (client: Awaited<ReturnType<typeof open>>, args: Record<string, unknown>) =>
  strictCall<Squad & Refused>(client, 'start_squad_members', args);

describe('in stateless mode', () => {
  test('chatId is in neither schema and in no result', { tags: ['A3'] }, async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat' } });
    const { tools } = await client.listTools();
    expect(JSON.stringify(tools)).not.toContain('chatId');
    expect(JSON.stringify(await startAndWait(client, one('x')))).not.toContain('chatId');
  });

  test('a chatId refuses the call', async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat' } });
    const before = await footprint(squad);
    const result = await client.callTool({
      name: 'start_squad_members',
      arguments: one('x', { chatId: 'c' }),
    });
    expect(result.structuredContent).toMatchObject({
      error: { code: 'INVALID_INPUT', message: 'members[0].chatId is given, but STATE_MODE is stateless' },
    });
    expect(await footprint(squad)).toEqual(before);
  });
});

describe('in stateful mode', () => {
  test('chatId is in the input', async () => {
    const { tools } = await (await open()).listTools();
    const tool = tools.find(each => each.name === 'start_squad_members')!;
    expect(JSON.stringify(tool.inputSchema)).toContain('"chatId"');
  });

  test('a new chat is what the create-chat command printed last, and gets role and initial task', {
    tags: ['A3'],
  }, async () => {
    const { members } = await startAndWait(await open(), one('Begin.'));
    const { chatId, status, rawStdout } = members[0]!;
    expect(status).toBe('completed');
    expect(chatId).toMatch(/^chat-\d+$/);
    expect(rawStdout).toMatch(
      new RegExp(`^chat=${chatId}\nYou code\\.\n\n---\n\n# Initial Task\nBegin\\.\n\n---\n\n# Setup`),
    );
  });

  test('every new member gets a chat of its own', async () => {
    const { members } = await startAndWait(await open(), {
      members: [...one('a').members, ...one('b').members],
    });
    expect(members[0]!.chatId).not.toBe(members[1]!.chatId);
  });

  test('a continued chat gets the task alone, without the role', { tags: ['A3'] }, async () => {
    const { members } = await startAndWait(await open(), one('Go on.', { chatId: 'mine-7' }));
    expect(members[0]).toMatchObject({ chatId: 'mine-7', status: 'completed' });
    expect(members[0]!.rawStdout).toMatch(/^chat=mine-7\n# Task\nGo on\.\n\n---\n\n# Setup/);
    expect(members[0]!.rawStdout).not.toContain('You code.');
  });

  test('the same chat for two members refuses the call', async () => {
    const client = await open();
    const before = await footprint(squad);
    const refused = await start(client, {
      members: [...one('a', { chatId: 'shared' }).members, ...one('b', { chatId: 'shared' }).members],
    });
    expect(refused.error).toMatchObject({
      code: 'CHAT_BUSY',
      message: 'Chat shared is in use by another member of this call',
    });
    expect(await footprint(squad)).toEqual(before);
  });

  test('a chat another run works on refuses the call until that run has ended', {
    tags: ['A3'],
  }, async () => {
    const client = await open({ RUN_TEMPLATE: './waits.sh <%= chatId %>', MCP_TOOL_TIMEOUT: '200' });
    const first = await startRunning(client, 'held');
    const before = await footprint(squad);
    const refused = await start(client, one('b', { chatId: 'held' }));
    expect(refused.error).toMatchObject({
      code: 'CHAT_BUSY',
      message: `Chat held is in use by run ${first.members[0]!.memberId}`,
    });
    expect(refused.error.suggestions!.join()).toContain('get_result');
    expect(await footprint(squad)).toEqual(before);
    squad.write('release-held', '');
    await strictCall(client, 'get_result', { squad_id: first.squadId, wait_seconds: 90 });
    await until('the run is over', async () => {
      const now = await strictCall<Squad>(client, 'get_result', { squad_id: first.squadId });
      return now.status === 'completed';
    });
    expect((await startAndWait(client, one('c', { chatId: 'held' }))).status).toBe('completed');
  });

  test('of several calls for one chat at the same moment exactly one is served', async () => {
    const env = { RUN_TEMPLATE: './waits.sh <%= chatId %>', MCP_TOOL_TIMEOUT: '300' };
    const clients = await Promise.all([open(env), open(env), open(env), open(env)]);
    const answers = await Promise.all(clients.map(client => start(client, one('x', { chatId: 'twin' }))));
    squad.write('release-twin', '');
    expect(answers.filter(answer => answer.error?.code === 'CHAT_BUSY')).toHaveLength(3);
    expect(answers.filter(answer => answer.error === undefined)).toHaveLength(1);
  });

  test('a chat stays busy across a restart of the hub', async () => {
    const client = await open({ RUN_TEMPLATE: './waits.sh <%= chatId %>', MCP_TOOL_TIMEOUT: '200' });
    await startRunning(client, 'kept');
    await squad.run(['hub', 'stop']);
    const after = await open();
    const refused = await start(after, one('b', { chatId: 'kept' }));
    expect(refused.error?.code).toBe('CHAT_BUSY');
    squad.write('release-kept', '');
  });

  test('a create-chat command that prints an id in use is an error of its member, and the chat stays with its run', async () => {
    squad.script('same.sh', 'echo held-too');
    const env = { RUN_TEMPLATE: './waits.sh <%= chatId %>', MCP_TOOL_TIMEOUT: '200' };
    const first = await startRunning(await open(env), 'held-too');
    const second = await startAndWait(await open({ ...env, CREATE_CHAT_TEMPLATE: './same.sh' }), one('b'));
    expect(second.members[0]).toMatchObject({
      status: 'error',
      error: { code: 'CHAT_BUSY', message: `Chat held-too is in use by run ${first.members[0]!.memberId}` },
    });
    squad.write('release-held-too', '');
  });

  test.each([
    ['fails', './fails.sh', 'exit code 9: no account'],
    ['prints no id', './mute.sh', 'it printed no id'],
    ['prints a novel', './long.sh', 'the id it printed is 1001 characters of JSON; at most 1000 fit'],
    ['prints a control character', './bell.sh', 'the id it printed holds a control character'],
    ['prints a NUL', './nul.sh', 'the id it printed holds a control character'],
    ['prints what is no text', './latin.sh', 'the id it printed is not UTF-8'],
  ])(
    'a create-chat command that %s is an error of its member, with what it said',
    async (_, command, why) => {
      const { members } = await startAndWait(await open({ CREATE_CHAT_TEMPLATE: command }), one('x'));
      expect(members[0]).toMatchObject({
        status: 'error',
        error: { code: 'CHAT_FAILED', message: expect.stringContaining(why) },
      });
      expect(members[0]).not.toHaveProperty('chatId');
    },
  );

  test('a create-chat command has no more time than its run, and is ended with what it started', async () => {
    const env = { CREATE_CHAT_TEMPLATE: './slow.sh', PROCESS_TIMEOUT_MS: '4000' };
    const { members } = await startAndWait(await open(env), one('x'));
    expect(members[0]).toMatchObject({
      status: 'error',
      error: { code: 'CHAT_FAILED', message: expect.stringContaining('it took longer than 4 s') },
    });
    expect(isAlive(Number(readFileSync(join(squad.workspace, 'slow-pid'), 'utf8')))).toBe(false);
  });

  test('a create-chat command that hangs can be cancelled', async () => {
    const client = await open({ CREATE_CHAT_TEMPLATE: './hangs.sh', MCP_TOOL_TIMEOUT: '200' });
    const { members } = await start(client, one('x'));
    await until('the command is running', () => {
      try {
        return readFileSync(join(squad.workspace, 'chat-hangs'), 'utf8');
      } catch {
        return null;
      }
    });
    const patient = await open();
    expect(await strictCall(patient, 'cancel_run', { spawn_id: members[0]!.memberId })).toMatchObject({
      runs: [{ status: 'cancelled', was_running: true }],
    });
  });

  test('without a create-chat template a new chat refuses the call, a given one works', async () => {
    const client = await open({ CREATE_CHAT_TEMPLATE: '' });
    const refused = await start(client, one('x'));
    expect(refused.error).toMatchObject({ code: 'TEMPLATE_MISSING' });
    expect(refused.error.suggestions!.join()).toContain('CREATE_CHAT_TEMPLATE');
    expect((await startAndWait(client, one('x', { chatId: 'given' }))).members[0]!.chatId).toBe('given');
  });

  test('a create-chat template with a mistake refuses the call', async () => {
    const refused = await start(await open({ CREATE_CHAT_TEMPLATE: 'x | y' }), one('x'));
    expect(refused.error.code).toBe('TEMPLATE_INVALID');
  });
});

describe('chats of the scripted engine', () => {
  const scripted = () => squad.client({ env: { STATE_MODE: 'stateful', ENGINE_COMMAND: 'scripted' } });

  test('go on over turns and over a restart of the hub', async () => {
    const first = await startAndWait(await scripted(), one('x\n```script\nsay one\n```'));
    const chatId = first.members[0]!.chatId!;
    expect(chatId).toMatch(/^chat_[0-9a-z]{10}$/);
    const second = await startAndWait(await scripted(), one('y\n```script\nsay two\n```', { chatId }));
    expect(second.members[0]).toMatchObject({ status: 'completed', chatId });
    await squad.run(['hub', 'stop']);
    const third = await startAndWait(await scripted(), one('z\n```script\nsay three\n```', { chatId }));
    expect(third.members[0]).toMatchObject({ status: 'completed', chatId });
    const log = await squad.run(['log', third.members[0]!.memberId]);
    expect(log.stdout).toBe('Turn 3 of this chat.\nthree\n');
  });

  test.each(['never-seen', '../../escape', ''])('a chat that does not exist is refused: %j', async chatId => {
    const before = await footprint(squad);
    const client = await scripted();
    const result = await client.callTool({ name: 'start_squad_members', arguments: one('x', { chatId }) });
    const { error } = result.structuredContent as unknown as Refused;
    expect(error.code).toBe(chatId === '' ? 'INVALID_INPUT' : 'CHAT_UNKNOWN');
    expect(await footprint(squad)).toEqual(before);
  });

  test('squad run --chat resumes a chat', async () => {
    const first = await startAndWait(await scripted(), one('x\n```script\nsay one\n```'));
    const ran = await squad.run(
      [
        'run',
        '--engine',
        'scripted',
        '--chat',
        first.members[0]!.chatId!,
        'coder',
        'x\n```script\nsay b\n```',
      ],
      {},
    );
    expect(ran).toMatchObject({ code: 0 });
  });
});

async function startRunning(client: Awaited<ReturnType<typeof open>>, chatId: string): Promise<Squad> {
  const started = await start(client, one('hold it', { chatId }));
  await until('the agent is running', () => {
    try {
      return readFileSync(join(squad.workspace, `started-${chatId}`), 'utf8');
    } catch {
      return null;
    }
  });
  return started;
}
