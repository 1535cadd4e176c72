import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawMcp } from '../../support/raw-mcp.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import { type Refused, strictCall } from '../../support/tools.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', PATH: '/usr/bin:/bin' });
const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const CORE = [
  'list_roles',
  'start_squad_members',
  'spawn_agent',
  'spawn_parallel',
  'get_result',
  'list_running',
  'cancel_run',
  'answer_question',
];
const SHIPPED = ['analyze_deps', 'review_code', 'run_tests'];

beforeAll(async () => {
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

describe('the tools a client is offered', () => {
  test('are the core, unless it asks for others', async () => {
    expect(await names(await squad.client())).toEqual(CORE);
  });

  test.each([
    { how: 'the argument', start: { args: ['--toolsets', 'core,templates'] }, tools: [...CORE, ...SHIPPED] },
    { how: 'the argument with =', start: { args: ['--toolsets=templates'] }, tools: SHIPPED },
    {
      how: 'the environment',
      start: { env: { SQUAD_TOOLSETS: ' team , core' } },
      tools: [...CORE, 'squad_status', 'squad_decision_search', 'squad_decision_record', 'send_message'],
    },
    {
      how: 'the argument rather than the environment',
      start: { args: ['--toolsets', 'templates'], env: { SQUAD_TOOLSETS: 'team' } },
      tools: SHIPPED,
    },
  ])('are those named by $how', { tags: ['C9'] }, async ({ start, tools }) => {
    for (const modern of [false, true])
      expect((await names(await squad.client({ ...start, modern }))).toSorted()).toEqual(tools.toSorted());
  });

  test('are none for a name that is no toolset, and it is said which there are', async () => {
    const client = new RawMcp(squad, { args: ['--toolsets', 'core,cora'] });
    const { error } = await client.ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    });
    expect(error).toMatchObject({
      message: expect.stringContaining('There is no toolset "cora"'),
      data: { code: 'INVALID_INPUT', suggestions: [expect.stringContaining('core, team, templates')] },
    });
    expect(await client.close()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('INVALID_INPUT: There is no toolset "cora"'),
    });
  });

  test('are those of the header of an HTTP request', async () => {
    const url = await until(
      'the port is bound',
      async () => (await squad.json<{ url: string | null }>(['hub', 'start'])).url,
    );
    const token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
    const connect = async (toolsets: string, mode: 'legacy' | { pin: string }) => {
      const client = new Client({ name: 'http', version: '1' }, { versionNegotiation: { mode } });
      const headers = {
        authorization: `Bearer ${token}`,
        'squad-workspace': squad.workspace,
        'squad-toolsets': toolsets,
      };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      return client;
    };
    for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
      const client = await connect('templates', mode);
      expect(await names(client)).toEqual(SHIPPED);
      await client.close();
    }
    const refused = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'squad-toolsets': 'cora' },
      body: '{}',
    });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { code: 'INVALID_INPUT', message: expect.stringContaining('There is no toolset "cora"') },
    });
  });

  test.each(['team.md', 'decisions.md', 'decisions/inbox/one.md', 'backlog.md'])(
    'have those of a team beside them where the workspace has %s',
    { tags: ['B10'] },
    async file => {
      await using team = new TestSquad({ ENGINE_COMMAND: 'scripted', PATH: '/usr/bin:/bin' });
      team.write(`.squad/${file}`, '### 2026-02-01: Sessions live in Redis\n');
      for (const modern of [false, true]) {
        const client = await team.client({ modern });
        expect(await names(client)).toEqual([...CORE, 'squad_status', 'squad_decision_search']);
        expect(await strictCall(client, 'squad_status')).toMatchObject({ running: 0 });
        await strictCall(client, 'squad_decision_search', { query: 'redis' });
      }
      expect(await names(await team.client({ args: ['--toolsets', 'core'] }))).toEqual(CORE);
    },
  );

  test('do not include those of other sets for a call either', async () => {
    const client = await squad.client();
    await expect(client.callTool({ name: 'run_tests', arguments: {} })).rejects.toThrow(
      'Unknown tool: run_tests',
    );
    await expect(client.callTool({ name: 'squad_status', arguments: {} })).rejects.toThrow('Unknown tool');
  });
});

describe('a template as a tool', () => {
  const TEMPLATE = `---
description: Says hello.
arguments:
  who:
    description: Who to address.
    required: true
  how:
    description: In which way.
    default: warmly
timeout: 40s
permission: read
---
Say hello to {{who}}, {{how}}.

\`\`\`script
report Hello {{who}}, {{how}}.
\`\`\`
`;
  const open = () => squad.client({ args: ['--toolsets', 'core,templates'] });

  test('takes its arguments and runs its body', { tags: ['C9'] }, async () => {
    const folder = join(squad.root, 'user', '.config', 'squad', 'templates');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'greet.md'), TEMPLATE);
    const client = await open();
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'greet')).toMatchObject({
      description: 'Says hello.',
      inputSchema: {
        properties: {
          who: { type: 'string', description: 'Who to address.' },
          how: { type: 'string' },
          async: { type: 'boolean' },
        },
        required: ['who'],
      },
    });
    const result = await strictCall<{ spawn_id: string }>(client, 'greet', { who: 'Ada' });
    expect(result).toMatchObject({ status: 'completed', result: 'Hello Ada, warmly.' });
    const { run } = await squad.json<{ run: object }>(['show', result.spawn_id]);
    expect(run).toMatchObject({ title: 'greet', timeoutMs: 40_000, options: { permission: 'read' } });
    expect(await callTool<Refused>(client, 'greet', {})).toMatchObject({
      isError: true,
      error: { code: 'INVALID_INPUT' },
    });
    expect(await callTool<Refused>(client, 'greet', { who: 'x', whom: 'y' })).toMatchObject({
      error: { code: 'INVALID_INPUT' },
    });
    expect(await callTool(client, 'greet', { who: 'Bob', async: true })).toMatchObject({ success: null });
  });

  test('that came with the workspace is none until it is trusted', { tags: ['C9'] }, async () => {
    squad.write('.squad/templates/lurk.md', TEMPLATE.replace('Says hello', 'Lurks'));
    expect(await names(await open())).not.toContain('lurk');
    const { files } = await squad.json<{ files: { file: string }[] }>(['trust', '--yes']);
    expect(files.map(({ file }) => file)).toContain(join(squad.workspace, '.squad/templates/lurk.md'));
    expect(await names(await open())).toContain('lurk');
  });

  test('cannot take the name of a tool of ours', async () => {
    const folder = join(squad.root, 'user', '.config', 'squad', 'templates');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cancel_run.md'), TEMPLATE);
    const { tools } = await (await open()).listTools();
    expect(tools.filter(({ name }) => name === 'cancel_run')).toMatchObject([{ title: 'Cancel run' }]);
  });
});

test.each([false, true])(
  'prompts are listed and filled in (modern era: %s)',
  { tags: ['C9'] },
  async modern => {
    const client = await squad.client({ modern });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['analyze-code', 'run-tests']);
    expect(prompts[1]).toMatchObject({ arguments: [{ name: 'scope', required: false }] });
    const { messages } = await client.getPrompt({ name: 'run-tests', arguments: { scope: 'only src/core' } });
    expect(messages).toMatchObject([
      { role: 'user', content: { type: 'text', text: expect.stringContaining('only src/core') } },
    ]);
    await expect(client.getPrompt({ name: 'nothing' })).rejects.toThrow('nothing');
    await expect(client.getPrompt({ name: 'run-tests', arguments: { skope: 'x' } })).rejects.toThrow('skope');
  },
);
