import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import type { Run } from '../../../src/schema/run.ts';
import { echoBlock } from '../../servers/start.ts';
import { Editor } from '../../support/editor.ts';
import { BIN, ended, isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const { workspace } = squad;
let editor: Editor;
beforeAll(async () => {
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  const role = (id: string, text: string) =>
    writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, `${id}.md`), text);
  role('coder', 'You code.');
  role('lead', '---\nspawn: true\n---\nYou lead.');
  await squad.unlimited();
  editor = await Editor.start(squad);
});
afterAll(async () => {
  await editor[Symbol.asyncDispose]();
  await squad[Symbol.asyncDispose]();
});

const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
const runOf = async (id: string) => (await squad.shown<{ run: Run }>(id)).run;
const opened = async (cwd = workspace) => (await editor.open(cwd)).sessionId;
/** The last run of the thread. */
async function lastOf(session: string): Promise<Run> {
  const { runs } = await squad.json<{ runs: Run[] }>(['ls', '--all']);
  return runs
    .filter(({ lineageId }) => lineageId === session)
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .at(-1)!;
}
async function killHub(): Promise<void> {
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
}

test('the agent offers modes for permissions, roles as an option, and sessions that can be loaded', {
  tags: ['G6'],
}, async () => {
  expect(await editor.initialize('test-editor')).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: 'squad', title: 'Squad' },
    agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {}, close: {} } },
  });
  const { modes, configOptions } = await editor.open(workspace);
  expect(modes?.currentModeId).toBe('role');
  expect(modes?.availableModes.map(({ id }) => id)).toEqual(['role', 'read', 'ask', 'edit', 'full']);
  expect(configOptions).toMatchObject([{ id: 'role', type: 'select', currentValue: 'coder' }]);
  const [option] = configOptions as { options: { value: string }[] }[];
  expect(option!.options.map(({ value }) => value)).toEqual(
    expect.arrayContaining(['coder', 'lead', 'none']),
  );
});

test('a session is a run: its text, tool calls and usage are updates, and the next prompt continues its chat', {
  tags: ['G6'],
}, async () => {
  const session = await opened();
  const script = 'say Looking.\nwrite notes.txt\n| one\nusage 120 34 0 0.5\nreport All done.';
  expect(await editor.prompt(session, fenced(script))).toBe('end_turn');
  expect(await runOf(session)).toMatchObject({
    ...{ id: session, roleId: 'coder', status: 'completed', client: 'test-editor', workspace },
  });
  expect(editor.said(session)).toMatch(/^Looking\.\s+All done\.\s+$/);
  const [call] = editor.of(session, 'tool_call');
  expect(call).toMatchObject({ title: 'write notes.txt', kind: 'edit', status: 'in_progress' });
  expect(editor.of(session, 'tool_call_update')).toMatchObject([
    { toolCallId: call!.toolCallId, status: 'completed' },
  ]);
  expect(editor.of(session, 'usage_update').at(-1)).toMatchObject({
    ...{ used: 154, cost: { amount: 0.5, currency: 'USD' } },
  });

  expect(await editor.prompt(session, fenced('say Again.'))).toBe('end_turn');
  expect(editor.said(session)).toContain('Turn 2 of this chat.\n\nAgain.');
  // The editor shows its own prompts.
  expect(editor.said(session, 'user_message_chunk')).toBe('');
  const second = await lastOf(session);
  expect(second.id).not.toBe(session);
  expect(second.options.takesUp).toEqual({ runId: session, by: 'reply' });
});

test('the mode is the permission of the next run, and the role is fixed by the first prompt', async () => {
  const session = await opened();
  const set = (modeId: string) => editor.agent.request('session/set_mode', { sessionId: session, modeId });
  const role = (value: string) =>
    editor.agent.request('session/set_config_option', { sessionId: session, configId: 'role', value });
  expect(await role('lead')).toMatchObject({ configOptions: [{ currentValue: 'lead' }] });
  await set('read');
  await editor.prompt(session, fenced('say one'));
  expect(await runOf(session)).toMatchObject({ roleId: 'lead', options: { permission: 'read' } });
  await set('ask');
  await editor.prompt(session, fenced('say two'));
  expect((await lastOf(session)).options).toMatchObject({ permission: 'edit', approvals: 'ask' });
  await expect(role('coder')).rejects.toMatchObject({ code: -32602 });
  await expect(role('nobody')).rejects.toMatchObject({ code: -32602 });
  await expect(set('everything')).rejects.toMatchObject({ code: -32602 });
});

test('files and links of the editor are in the prompt', async () => {
  const session = await opened();
  await editor.prompt(session, [
    { type: 'text', text: 'Explain ' },
    {
      type: 'resource',
      resource: { uri: `file://${workspace}/a%20b.ts`, text: 'const a = "```";', mimeType: 'text/plain' },
    },
    { type: 'resource_link', uri: 'file:///else/c.ts', name: 'c.ts' },
  ]);
  const { task } = await runOf(session);
  expect(task).toContain(`Explain \n${workspace}/a b.ts:\n\`\`\`\`\nconst a = "\`\`\`";\n\`\`\`\``);
  expect(task).toContain('/else/c.ts');
});

test('a prompt to a running turn is a message to its agent, and both prompts end with the run', {
  tags: ['G6'],
}, async () => {
  const session = await opened();
  const first = editor.prompt(session, fenced('say begun\nawait go-message\nsay first'));
  await editor.untilSaid(session, 'begun');
  const second = editor.prompt(session, fenced('say second'));
  await until('the message is stored', async () => {
    const { events } = await squad.json<{ events: { body: { type: string } }[] }>([
      'events',
      '--run',
      session,
    ]);
    return events.some(({ body }) => body.type === 'run.told');
  });
  squad.write('go-message', '');
  expect(await Promise.all([first, second])).toEqual(['end_turn', 'end_turn']);
  expect(await runOf(session)).toMatchObject({ status: 'completed', turn: 2 });
  expect(editor.said(session)).toMatch(/begun[\s\S]*first[\s\S]*second/);
  expect((await lastOf(session)).id).toBe(session);
});

test('two prompts at once are one run and one message', async () => {
  const session = await opened();
  const prompts = [fenced('say one\nawait go-both'), fenced('say two')].map(text =>
    editor.prompt(session, text),
  );
  await editor.untilSaid(session, 'one');
  squad.write('go-both', '');
  expect(await Promise.all(prompts)).toEqual(['end_turn', 'end_turn']);
  const { runs } = await squad.json<{ runs: Run[] }>(['ls', '--all']);
  const told = runs.filter(({ lineageId }) => lineageId === session);
  // The second reaches the running turn, or continues its chat right after it.
  expect(told.reduce((turns, { turn }) => turns + turn, 0)).toBe(2);
  expect(editor.said(session)).toContain('two');
});

test('a cancelled prompt ends with `cancelled`, with all that its run had started, and the next one continues', {
  tags: ['G6'],
}, async () => {
  const { sessionId: session } = await editor.open(workspace);
  await editor.agent.request('session/set_config_option', {
    sessionId: session,
    configId: 'role',
    value: 'lead',
  });
  const members = JSON.stringify([{ roleId: 'coder', task: fenced('say below\nhang') }]);
  const prompt = editor.prompt(session, fenced(`say begun\ncall start_squad_members {"members":${members}}`));
  await editor.untilSaid(session, 'begun');
  const child = await until('its member runs', async () => {
    const { runs } = await squad.json<{ runs: Run[] }>(['ls']);
    return runs.find(({ parentId, status }) => parentId === session && status === 'running');
  });
  await editor.cancel(session);
  expect(await prompt).toBe('cancelled');
  expect((await runOf(session)).status).toBe('cancelled');
  await until('the member has ended', async () => (await runOf(child.id)).status === 'cancelled');
  expect(await editor.prompt(session, fenced('say after'))).toBe('end_turn');
  expect(editor.said(session)).toContain('Turn 2 of this chat.');
});

test('a squad is a plan with its members', { tags: ['G6'] }, async () => {
  const { sessionId: session } = await editor.open(workspace);
  await editor.agent.request('session/set_config_option', {
    sessionId: session,
    configId: 'role',
    value: 'lead',
  });
  const members = JSON.stringify([
    { roleId: 'coder', task: `First part. ${fenced('await go-plan')}` },
    { roleId: 'coder', task: `Second part. ${fenced('fail for a reason')}` },
  ]);
  const prompt = editor.prompt(session, fenced(`call start_squad_members {"members":${members}}`));
  const plan = () => editor.of(session, 'plan').at(-1)?.entries ?? [];
  await until(
    'one has failed and one works',
    () =>
      plan()
        .map(({ status }) => status)
        .join() === 'in_progress,completed',
  );
  expect(plan().map(({ content }) => content)).toEqual([
    expect.stringMatching(/^coder: First part\./),
    expect.stringMatching(/^coder: Second part\..*\(error\)$/),
  ]);
  squad.write('go-plan', '');
  expect(await prompt).toBe('end_turn');
  expect(plan().map(({ status }) => status)).toEqual(['completed', 'completed']);
});

describe('questions', () => {
  const inbox = async (run: string) =>
    (await squad.json<{ items: InboxItem[] }>(['inbox', '--all'])).items.filter(({ runId }) => runId === run);

  test('with choices are permission requests, whose answer reaches the agent', { tags: ['G6'] }, async () => {
    const session = await opened();
    const prompt = editor.prompt(session, fenced('ask "Which database for acp?" sqlite postgres'));
    const asked = await editor.untilAsked('Which database for acp?');
    expect(asked.request.options.map(({ name }) => name)).toEqual(['sqlite', 'postgres']);
    asked.answer('choice-2');
    expect(await prompt).toBe('end_turn');
    expect(editor.said(session)).toContain('The answer is: postgres');
    expect(await inbox(session)).toMatchObject([
      { answer: 'postgres', answeredBy: { who: 'user', via: 'test-editor' } },
    ]);
  });

  test('for a text end the turn, and the next prompt is the answer', { tags: ['G6'] }, async () => {
    const session = await opened();
    expect(await editor.prompt(session, fenced('ask What is its name?'))).toBe('end_turn');
    expect(editor.said(session)).toContain('What is its name?');
    expect((await runOf(session)).status).toBe('running');
    expect(await editor.prompt(session, 'Ada')).toBe('end_turn');
    expect(editor.said(session)).toContain('The answer is: Ada');
    expect((await lastOf(session)).id).toBe(session);
  });

  test('that the user turns away stay in the inbox', async () => {
    const session = await opened();
    const prompt = editor.prompt(session, fenced('ask "Turned away?" left right'));
    (await editor.untilAsked('Turned away?')).answer(null);
    const [item] = await inbox(session);
    expect(item?.state).toBe('open');
    expect((await squad.run(['answer', item!.id, 'left'])).code).toBe(0);
    expect(await prompt).toBe('end_turn');
    expect(editor.said(session)).toContain('The answer is: left');
  });

  test('of an engine are permission requests: allowed once, or refused', { tags: ['G6'] }, async () => {
    const session = await opened();
    await editor.agent.request('session/set_mode', { sessionId: session, modeId: 'ask' });
    const use = (command: string, id: string) =>
      `call ask_permission ${JSON.stringify({ tool_name: 'Bash', input: { command }, tool_use_id: id })}`;
    const prompt = editor.prompt(session, fenced(`${use('make it', 'a')}\n${use('rm it', 'b')}`));
    const first = await until('it asks', () =>
      editor.asked.find(({ request }) => request.sessionId === session),
    );
    expect(first.request.toolCall).toMatchObject({ title: 'scripted wants to run: Bash', kind: 'execute' });
    expect(JSON.stringify(first.request.toolCall.content)).toContain('make it');
    first.answer('yes');
    const second = await until('it asks again', () =>
      editor.asked.find(({ request }) => request.sessionId === session && request !== first.request),
    );
    second.answer('no');
    expect(await prompt).toBe('end_turn');
    expect(editor.said(session)).toMatch(/"allow"[\s\S]*"deny"/);
  });

  test('that are answered elsewhere are withdrawn from the editor', async () => {
    const session = await opened();
    const prompt = editor.prompt(session, fenced('ask "Answered elsewhere?" here there'));
    const asked = await editor.untilAsked('Answered elsewhere?');
    const [item] = await inbox(session);
    expect((await squad.run(['answer', item!.id, 'there'])).code).toBe(0);
    expect(await prompt).toBe('end_turn');
    await until('it is withdrawn', () => asked.isWithdrawn);
    expect(editor.said(session)).toContain('The answer is: there');
  });
});

describe('sessions', () => {
  test('are loaded from the store by another editor: the conversation is replayed, or only continued', {
    tags: ['G6'],
  }, async () => {
    const session = await opened();
    await editor.prompt(session, fenced('say early\nwrite loaded.txt\n| x'));
    await editor.prompt(session, fenced('say late\nfail for a reason')).catch(error => {
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('for a reason') });
    });
    await using other = await Editor.start(squad, 'other');
    const { sessions } = await other.agent.request('session/list', { cwd: workspace });
    expect(sessions.find(({ sessionId }) => sessionId === session)).toMatchObject({
      cwd: workspace,
      title: 'Do it.',
    });
    await other.load(session, workspace);
    expect(other.said(session, 'user_message_chunk')).toMatch(/say early[\s\S]*say late/);
    expect(other.said(session)).toMatch(/early[\s\S]*late[\s\S]*for a reason/);
    expect(other.of(session, 'tool_call').map(({ toolCallId }) => toolCallId)).toEqual(
      editor.of(session, 'tool_call').map(({ toolCallId }) => toolCallId),
    );
    const before = other.updates.length;
    expect(
      await other.agent.request('session/resume', { sessionId: session, cwd: workspace, mcpServers: [] }),
    ).toMatchObject({ modes: { currentModeId: 'role' } });
    expect(other.updates.slice(before).map(({ update }) => update.sessionUpdate)).toEqual([]);
    expect(await other.prompt(session, fenced('say third'))).toBe('end_turn');
    expect(other.said(session)).toContain('Turn 3 of this chat.');
  });

  test('that are unknown, of another folder, or in none are refused', async () => {
    const session = await opened();
    await editor.prompt(session, fenced('say here'));
    const elsewhere = join(squad.root, 'elsewhere');
    mkdirSync(elsewhere, { recursive: true });
    const refused = { code: -32602 };
    await expect(editor.load('run_0000000000', workspace)).rejects.toMatchObject(refused);
    await expect(editor.load('../etc', workspace)).rejects.toMatchObject(refused);
    await expect(editor.load(session, elsewhere)).rejects.toMatchObject({
      ...{ code: -32602, message: expect.stringContaining(workspace) },
    });
    await expect(editor.open(join(squad.root, 'nowhere'))).rejects.toMatchObject(refused);
    await expect(editor.open('work')).rejects.toMatchObject(refused);
    await expect(editor.prompt('run_0000000000', 'Hello')).rejects.toMatchObject(refused);
    await expect(editor.prompt(await opened(), '  ')).rejects.toMatchObject(refused);
    await expect(editor.agent.request('session/list', { cursor: 'x' })).rejects.toMatchObject(refused);
    await expect(editor.agent.request('session/new', { cwd: 7 } as never)).rejects.toMatchObject(refused);
    await expect(editor.agent.request('session/unheard_of', {})).rejects.toMatchObject({ code: -32601 });
  });

  test('that are closed stop their run', async () => {
    const session = await opened();
    const prompt = editor.prompt(session, fenced('say begun\nhang'));
    await editor.untilSaid(session, 'begun');
    await editor.agent.request('session/close', { sessionId: session });
    expect(await prompt).toBe('cancelled');
    expect((await runOf(session)).status).toBe('cancelled');
    await expect(editor.prompt(session, 'More')).rejects.toMatchObject({ code: -32602 });
  });

  test('survive hubs that are killed while a prompt and a question are open', { tags: ['G6'] }, async () => {
    const session = await opened();
    const prompt = editor.prompt(
      session,
      fenced('say before\nappend once.txt\n| x\nawait go-killed\nask "Still there?" yes no\nsay end'),
    );
    await editor.untilSaid(session, 'before');
    await killHub();
    squad.write('go-killed', '');
    const asked = await editor.untilAsked('Still there?');
    await killHub();
    asked.answer('choice-1');
    expect(await prompt).toBe('end_turn');
    expect(editor.said(session)).toMatch(/before[\s\S]*The answer is: yes[\s\S]*end/);
    expect(editor.said(session).match(/before/g)).toHaveLength(1);
    expect(readFileSync(join(workspace, 'once.txt'), 'utf8').trim()).toBe('x');
    expect(await editor.prompt(session, fenced('say again'))).toBe('end_turn');
    expect(editor.said(session)).toContain('Turn 2 of this chat.');
  });
});

test('the run of an editor that crashes goes on, and another editor takes it up while it runs', {
  tags: ['G6'],
}, async () => {
  const crashing = await Editor.start(squad, 'crashing');
  const { sessionId: session } = await crashing.open(workspace);
  const prompt = crashing.prompt(session, fenced('say begun\nawait go-crashed\nsay finished'));
  prompt.catch(() => {});
  await crashing.untilSaid(session, 'begun');
  await crashing.kill();
  await using next = await Editor.start(squad, 'next');
  await next.load(session, workspace);
  expect(next.said(session)).toContain('begun');
  expect((await runOf(session)).status).toBe('running');
  squad.write('go-crashed', '');
  await next.untilSaid(session, 'finished');
  await until('it completes', async () => (await runOf(session)).status === 'completed');
});

test('an agent without events and chats is shown as it prints, and starts anew with each prompt', async () => {
  squad.script(
    'printer.sh',
    'cat > last-prompt\necho printed\nuntil test -e go-printer; do sleep 0.05; done\nprintf end',
  );
  await using plain = await Editor.start(squad, 'plain', { RUN_TEMPLATE: './printer.sh' });
  const { sessionId: session } = await plain.open(workspace);
  const prompt = plain.prompt(session, 'Print the first.');
  await plain.untilSaid(session, 'printed');
  squad.write('go-printer', '');
  expect(await prompt).toBe('end_turn');
  expect(plain.said(session)).toMatch(/^printed\s+end\s+$/);
  expect(await plain.prompt(session, 'Print the second.')).toBe('end_turn');
  expect(plain.said(session)).toMatch(/^printed\s+end\s+printed\s+end\s+$/);
  expect(JSON.stringify(plain.of(session, 'agent_thought_chunk'))).toContain('left no chat');
  const prompted = readFileSync(join(workspace, 'last-prompt'), 'utf8');
  expect(prompted).toContain('Print the second.');
  expect((await lastOf(session)).options.takesUp).toEqual({ runId: session, by: 'reply' });
});

test('an agent that starts `squad acp` in its run gets no session from it', async () => {
  const session = await opened();
  const lines = [
    { id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } },
    { id: 2, method: 'session/new', params: { cwd: workspace, mcpServers: [] } },
    { id: 3, method: 'session/load', params: { sessionId: session, cwd: workspace, mcpServers: [] } },
  ].map(request => JSON.stringify({ jsonrpc: '2.0', ...request }));
  squad.write('acp-input', `${lines.join('\n')}\n`);
  const untilReplied = (id: number) => `until grep -q '"id":${id}' acp-output; do sleep 0.05; done`;
  squad.script(
    'ask-acp.sh',
    `(sed -n 1p acp-input; ${untilReplied(1)}; sed 1d acp-input; ${untilReplied(2)}; ${untilReplied(3)}) | "$1" "$2" acp > acp-output`,
  );
  await editor.prompt(session, fenced(`run touch acp-output; ./ask-acp.sh ${process.execPath} ${BIN}`));
  const replies = readFileSync(join(workspace, 'acp-output'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  for (const id of [2, 3])
    expect(replies.find(reply => reply.id === id)).toMatchObject({
      error: { data: { code: 'NOT_ALLOWED' } },
    });
});

test('garbage on standard input changes nothing, and its end ends the agent', async () => {
  const child = squad.start(['acp']);
  const over = ended(child);
  const request = {
    jsonrpc: '2.0',
    id: 'a',
    method: 'initialize',
    params: { protocolVersion: 1, clientCapabilities: {} },
  };
  child.stdin!.write(`nonsense\n\n{"jsonrpc":"2.0","id":99,"result":{}}\n[]\n${JSON.stringify(request)}\n`);
  let answer = '';
  child.stdout!.on('data', chunk => {
    answer += chunk;
  });
  await until('it answers', () => answer.includes('"id":"a"'));
  child.stdin!.end();
  expect(await over).toMatchObject({ code: 0 });
});

describe('MCP servers of the editor', () => {
  const { command, args = [] } = echoBlock();
  const SECRET = 'editor-secret-7c1f';
  const echo = (name: string) => ({
    ...{ name, command, args, env: [{ name: 'ITS_SECRET', value: SECRET }] },
  });
  const about = (server: string) =>
    `call ${server}__about ${JSON.stringify({ env: ['ITS_SECRET', 'SQUAD_EDITOR_0'] })}`;

  test('go through the gateway for its runs only; their secrets stay there', { tags: ['G6'] }, async () => {
    const { sessionId: session } = await editor.open(workspace, [echo('My Echo')]);
    const script = `say begun\nrun env\n${about('My-Echo')}\nawait go-servers`;
    const prompt = editor.prompt(session, fenced(script));
    await until('the server has answered', () => /about: [\s\S]*pid/.test(editor.said(session)));
    const said = editor.said(session);
    // The server has its secret, which the gateway takes out of the answer; the agent never has it.
    expect(said).toContain('"ITS_SECRET":"[secret SQUAD_EDITOR_0]","SQUAD_EDITOR_0":null');
    expect(said).not.toContain(SECRET);
    expect(said).not.toMatch(/^SQUAD_EDITOR_/m);
    expect(grep(workspace, SECRET)).toEqual([]);
    expect(grep(squad.home, SECRET).map(file => file.split('/').at(-1))).toEqual(['variables.json']);
    const { runIds } = await squad.json<{ runIds: [string] }>([
      'run',
      '-d',
      'coder',
      fenced(about('My-Echo')),
    ]);
    await squad.run(['wait', ...runIds]);
    const { result } = await squad.shown<{ result: { result: string } }>(runIds[0]);
    expect(result.result).toContain('refused');
    squad.write('go-servers', '');
    expect(await prompt).toBe('end_turn');
    expect(grep(squad.home, SECRET)).toEqual([]);
    // A reply has them too, although the run that began the thread has ended.
    expect(await editor.prompt(session, fenced(about('My-Echo')))).toBe('end_turn');
    expect(editor.said(session).match(/about: /g)).toHaveLength(2);
  });

  test('that do not start are named, and the run goes on without them', async () => {
    const broken = { name: 'broken', command: join(squad.root, 'no-such-program'), args: [], env: [] };
    const { sessionId: session } = await editor.open(workspace, [broken, echo('whole')]);
    expect(await editor.prompt(session, fenced(`${about('whole')}\ntry true\nsay done`))).toBe('end_turn');
    expect(editor.said(session)).toContain('done');
    const thoughts = editor.of(session, 'agent_thought_chunk').map(({ content }) => JSON.stringify(content));
    expect(thoughts.join()).toContain('broken');
  });
});

/** Files below the folder that contain the text. */
function grep(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => {
      try {
        return readFileSync(file).includes(text);
      } catch {
        return false; // it was replaced meanwhile
      }
    });
}
