import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgents } from '../../attacks/agents.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import { strictCall } from '../../support/tools.ts';

/** Roles are the user's own, outside of what agents can write, so that what they grant counts. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
const ROLES = {
  coder: 'You code.',
  scribe: '---\nmcp: [squad/squad_decision_record]\n---\nYou write things down.',
  asker: 'You ask.',
};
const DECISIONS = `# Decisions

### 2026-02-01: Sessions live in Redis
**By:** Ann
**What:** Sessions are kept in Redis, not in the database.
**Why:** They are short-lived.

### 2026-03-01: One clock
**By:** Bob
**What:** Time comes in through a port.
**Why:** Tests.

### No telemetry
**What:** Nothing is sent anywhere.
`;

beforeAll(async () => {
  mkdirSync(squad.env.SQUAD_AGENTS_DIR!);
  for (const [id, text] of Object.entries(ROLES))
    writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, `${id}.md`), text);
  squad.write(
    '.squad/team.md',
    '# Team\n\n| Name | Role | Charter | Status |\n|-|-|-|-|\n| Coder | Builds | — | ✅ Active |\n',
  );
  squad.write('.squad/decisions.md', DECISIONS);
  squad.write('.squad/decisions/inbox/eve-cache.md', '# Cache nothing\n\n**By:** Eve\n');
  squad.write('.squad/backlog.md', '## Now\n- [ ] Retry uploads [P1] @coder (#7)\n- [x] Start\n');
  squad.write('.squad/agents/coder/history.md', '## Learnings\n\n- The build is slow.\n- Use the cache.\n');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;
interface Result {
  spawn_id: string;
  status: string;
  result: string;
}
const start = (client: Client, roleId: string, lines: string[], more: object = {}) =>
  callTool<Result>(client, 'spawn_agent', {
    roleId,
    include_context: false,
    prompt: script(...lines),
    ...more,
  });

interface Found {
  decisions: {
    id: string;
    title: string;
    by: string | null;
    date: string | null;
    snippet: string;
    file: string;
  }[];
  total: number;
  note?: string;
}

const team = (options: Parameters<TestSquad['client']>[0] = {}) =>
  squad.client({ ...options, args: ['--toolsets', 'core,team'] });

describe('the tools of a team', () => {
  test('are there for a client that asks for them: search finds, record lays a file down', async () => {
    const client = await team();
    const found = await strictCall<Found>(client, 'squad_decision_search', { query: 'redis sessions' });
    expect(found).toMatchObject({
      total: 1,
      decisions: [
        { title: 'Sessions live in Redis', by: 'Ann', date: '2026-02-01', file: '.squad/decisions.md' },
      ],
    });
    expect(found.decisions[0]!.snippet).toContain('Redis');
    const recorded = await strictCall<{ id: string; file: string }>(client, 'squad_decision_record', {
      title: 'Name things once',
      what: 'One word per thing.',
      why: 'To find it with unicornsearch.',
    });
    expect(readFileSync(join(squad.workspace, recorded.file), 'utf8')).toContain('**By:** the user (test 1)');
    const again = await strictCall<Found>(client, 'squad_decision_search', { query: 'unicornsearch' });
    expect(again.decisions.map(({ id }) => id)).toEqual([recorded.id]);
    // Words of the title alone would say nothing that the title does not.
    const byTitle = await strictCall<Found>(client, 'squad_decision_search', { query: 'name things once' });
    expect(byTitle.decisions[0]).toMatchObject({ id: recorded.id, snippet: 'One word per thing.' });
    rmSync(join(squad.workspace, recorded.file));
    expect(
      await strictCall<Found>(client, 'squad_decision_search', { query: 'unicornsearch' }),
    ).toMatchObject({
      decisions: [],
      total: 0,
    });
  });

  test.each([
    ['a quote', '"'],
    ['SQL', "'; drop table x; --"],
    ['an operator', 'NEAR('],
    ['a sign', '🔴'],
    ['nothing', ' '],
    ['a very long word', 'x'.repeat(10_000)],
    ['a column', 'title:*'],
  ])('answer any query: %s', async (_, query) => {
    const client = await team();
    expect(await strictCall(client, 'squad_decision_search', { query })).toMatchObject({
      total: expect.any(Number),
    });
  });

  test('refuse a decision without words, and one where there is no team', async () => {
    const client = await team();
    const words = { title: 'a', what: 'b', why: 'c' };
    for (const input of [{ ...words, title: ' ' }, { ...words, what: 'x'.repeat(9_000) }, { title: 'a' }])
      expect(await callTool(client, 'squad_decision_record', input)).toMatchObject({
        isError: true,
        error: { code: 'INVALID_INPUT' },
      });
    squad.write('elsewhere/.keep', '');
    const other = await squad.client({
      args: ['--toolsets', 'team', '--workspace', join(squad.workspace, 'elsewhere')],
    });
    expect(await callTool(other, 'squad_decision_record', words)).toMatchObject({
      isError: true,
      error: { code: 'TEAM_MISSING', message: expect.stringContaining('squad init') },
    });
  });
});

describe('an agent', () => {
  const record = `call squad_decision_record ${JSON.stringify({ title: 'From within', what: 'w', why: 'y' })}`;

  test('searches the decisions, whatever its role', { tags: ['B10'] }, async () => {
    const client = await squad.client();
    const { result } = await start(client, 'asker', ['call squad_decision_search {"query":"redis"}']);
    expect(result).toContain('Sessions live in Redis');
  });

  test('records one under its own name where its role grants it, and nothing of a person is lost', {
    tags: ['B10'],
  }, async () => {
    const client = await squad.client();
    const lead = await start(client, 'scribe', ['await edited', record], { async: true });
    const mine = `${DECISIONS}\n### Mine\nWhile it was running.\n`;
    squad.write('.squad/decisions.md', mine);
    squad.write('edited', '');
    const ended = await callTool<Result>(client, 'get_result', { spawn_id: lead.spawn_id, wait_seconds: 90 });
    expect(ended.status).toBe('completed');
    expect(readFileSync(join(squad.workspace, '.squad/decisions.md'), 'utf8')).toBe(mine);
    const inbox = join(squad.workspace, '.squad/decisions/inbox');
    const [file] = readdirSync(inbox).filter(name => /^\d{4}-\d{2}-\d{2}-scribe-from-within\.md$/.test(name));
    expect(readFileSync(join(inbox, file!), 'utf8')).toContain(`**By:** scribe (${lead.spawn_id})`);
    squad.write('.squad/decisions.md', DECISIONS);
  });

  test('without the grant has no such tool', { tags: ['B10'] }, async () => {
    const client = await squad.client();
    const before = readdirSync(join(squad.workspace, '.squad/decisions/inbox')).length;
    const { result } = await start(client, 'asker', [record]);
    expect(result).toMatch(/unknown tool|not found/i);
    expect(readdirSync(join(squad.workspace, '.squad/decisions/inbox')).length).toBe(before);
  });
});

const URIS = ['roster', 'decisions', 'decisions/latest', 'backlog', 'agents', 'metrics'].map(
  name => `squad://${name}`,
);
const page = async (client: Client, uri: string) => {
  const { contents } = await client.readResource({ uri });
  const [content] = contents as { mimeType: string; text: string }[];
  expect(content!.mimeType).toBe('application/json');
  return JSON.parse(content!.text);
};

async function overHttp(modern: boolean, token: string): Promise<Client> {
  const url = await until(
    'the port is bound',
    async () => (await squad.json<{ url: string | null }>(['hub', 'start'])).url,
  );
  const client = new Client(
    { name: 'http', version: '1' },
    { versionNegotiation: modern ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' } },
  );
  const headers = { authorization: `Bearer ${token}`, 'squad-workspace': squad.workspace };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}
const userToken = () => readFileSync(join(squad.home, 'token'), 'utf8').trim();

describe.each([
  { edge: 'stdio', modern: false },
  { edge: 'stdio', modern: true },
  { edge: 'http', modern: false },
  { edge: 'http', modern: true },
])('resources over $edge (modern era: $modern)', ({ edge, modern }) => {
  const connect = () => (edge === 'stdio' ? squad.client({ modern }) : overHttp(modern, userToken()));

  test('are listed, with templates and names to complete them', { tags: ['B9'] }, async () => {
    const client = await connect();
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toEqual(expect.arrayContaining(URIS));
    const templates = (await client.listResourceTemplates()).resourceTemplates.map(
      ({ uriTemplate }) => uriTemplate,
    );
    expect(templates).toEqual(
      expect.arrayContaining(['squad://agents/{name}/status', 'squad://agents/{name}/history']),
    );
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'squad://agents/{name}/status' },
      argument: { name: 'name', value: 'C' },
    });
    expect(completion.values).toEqual(['coder']);
    await client.close();
  });

  test('say what the files say, and null for what nobody reported', { tags: ['B9'] }, async () => {
    const client = await connect();
    expect((await page(client, 'squad://roster')).members).toMatchObject([
      { name: 'Coder', role: 'Builds', status: 'Active' },
    ]);
    expect((await page(client, 'squad://decisions')).decisions[0]).toMatchObject({
      title: expect.any(String),
    });
    expect((await page(client, 'squad://decisions/latest')).decisions.length).toBeLessThanOrEqual(10);
    expect((await page(client, 'squad://backlog')).groups[0].items[0]).toMatchObject({
      title: 'Retry uploads',
      owner: 'coder',
      priority: 'P1',
      issue: '#7',
    });
    const { agents } = await page(client, 'squad://agents');
    expect(agents).toContainEqual(
      expect.objectContaining({ name: 'coder', role: 'Builds', has_history: true }),
    );
    expect(await page(client, 'squad://agents/coder/status')).toMatchObject({
      name: 'coder',
      status: 'idle',
    });
    expect((await page(client, 'squad://agents/Coder/history')).entries).toMatchObject([
      { text: '- Use the cache.' },
      { text: '- The build is slow.' },
    ]);
    const { today, workspace } = await page(client, 'squad://metrics');
    expect(today).toHaveProperty('cost_usd');
    expect(workspace.runs).toBeGreaterThan(0);
    await client.close();
  });

  test('that are not there are an error, with the names that come near', async () => {
    const client = await connect();
    await expect(page(client, 'squad://agents/codr/status')).rejects.toThrow(/not found.*coder/i);
    for (const uri of [
      'squad://nothing',
      'squad://agents/..%2f..%2ftoken/history',
      'squad://agents/%/status',
      'squad://agents/../x/status',
    ])
      await expect(page(client, uri)).rejects.toThrow();
    await client.close();
  });

  test('are updated when a person edits a file, and when a run begins and ends', {
    tags: ['B9'],
  }, async () => {
    const client = await connect();
    const heard = new Set<string>();
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.add(params.uri),
    );
    const watched = [
      'squad://decisions',
      'squad://backlog',
      'squad://agents/coder/status',
      'squad://metrics',
    ];
    if (modern) await client.listen({ resourceSubscriptions: watched });
    else for (const uri of watched) await client.subscribeResource({ uri });
    const file = join(squad.workspace, '.squad/decisions.md');
    await until('the edit was reported', () => {
      if (!heard.has('squad://decisions')) appendFileSync(file, '\n');
      return heard.has('squad://decisions');
    });
    expect(heard.has('squad://backlog')).toBe(false);
    const other = await squad.client();
    await start(other, 'coder', ['report done']);
    await until(
      'the run was reported',
      () => heard.has('squad://agents/coder/status') && heard.has('squad://metrics'),
    );
    const status = await page(client, 'squad://agents/coder/status');
    expect(status.recent[0]).toMatchObject({ status: 'completed', task_summary: expect.any(String) });
    await client.close();
  });
});

describe('the resources of an agent', () => {
  test('are those of the team, without the work of others', { tags: ['B9'] }, async () => {
    const user = await squad.client();
    const other = await start(user, 'coder', ['hang'], { async: true, task_summary: 'A secret task' });
    const lead = await start(user, 'asker', ['run printf %s "$SQUAD_MCP_TOKEN" > token', 'await done'], {
      async: true,
    });
    const token = await until('its token is there', () => {
      try {
        return readFileSync(join(squad.workspace, 'token'), 'utf8');
      } catch {
        return null;
      }
    });
    const agent = await overHttp(true, token);
    expect((await agent.listResources()).resources.map(({ uri }) => uri)).toEqual(URIS);
    expect((await agent.listResourceTemplates()).resourceTemplates).toHaveLength(2);
    await until(
      'the other is running',
      async () => (await page(agent, 'squad://agents/coder/status')).running === 1,
    );
    const pages = await Promise.all(
      [...URIS, 'squad://agents/coder/status', 'squad://agents/coder/history'].map(uri => page(agent, uri)),
    );
    const everything = JSON.stringify(pages);
    expect(everything).toContain('"status":"working"');
    expect(everything).not.toContain('A secret task');
    expect(everything).not.toContain(other.spawn_id);
    const metrics = await page(agent, 'squad://metrics');
    expect(metrics).toMatchObject({ run: { runs: 1, running: 1, cost_usd: null }, squad: { runs: 1 } });
    expect(metrics).not.toHaveProperty('workspace');
    for (const uri of ['agents://iac-log', 'agents://context', `agents://runs/${other.spawn_id}`])
      await expect(page(agent, uri)).rejects.toThrow();
    await agent.close();
    squad.write('done', '');
    await callTool(user, 'cancel_run', { spawn_id: other.spawn_id });
    await callTool(user, 'get_result', { spawn_id: lead.spawn_id, wait_seconds: 90 });
  });
});

describe('in the terminal', () => {
  test('the commands show the files, and say what to do where there is nothing', async () => {
    expect((await squad.run(['team'])).stdout).toMatch(/Coder\s+Builds\s+Active/);
    expect((await squad.run(['backlog'])).stdout).toMatch(
      /Now 1 of 2 open\n\s+1 ○ Retry uploads P1 @coder #7/,
    );
    const { stdout } = await squad.run(['decisions']);
    expect(stdout).toMatch(/2026-03-01\s+Bob.*One clock\n.*2026-02-01\s+Ann.*Sessions live in Redis/);
    expect(stdout).toMatch(/inbox\s+Cache nothing/);
    expect((await squad.run(['decisions', '--search', 'short-lived'])).stdout).toContain(
      'Sessions live in Redis',
    );
    const { decisions } = await squad.json<Found>(['decisions', '--search', 'clock', '--limit', '1']);
    expect((await squad.run(['decisions', decisions[0]!.id])).stdout).toContain(
      'Time comes in through a port.',
    );
    expect(await squad.run(['decisions', 'd-zzz'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DECISION_UNKNOWN'),
    });
    const empty = join(squad.root, 'empty');
    mkdirSync(empty, { recursive: true });
    for (const name of ['backlog', 'decisions'])
      expect(await squad.run([name], { cwd: empty })).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('squad init'),
      });
  });
});

test('squad decisions with nothing to look for says so', async () => {
  for (const words of ['', '  '])
    expect(await squad.run(['decisions', '--search', words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The search is empty (INVALID_INPUT)'),
    });
});

test('a file of eight megabytes of headings keeps nobody waiting: others are answered while it is searched', async () => {
  await using other = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const [asker, worker] = (await startAgents(other, 'coder', 'coder')) as [Agent, Agent];
  other.write('.squad/decisions.md', '### a\n'.repeat(1_400_000));
  let isOver = false;
  const search = asker.call('squad_decision_search', { query: 'a' }).finally(() => (isOver = true));
  let answered = 0;
  const keepAsking = async () => {
    while (!isOver) {
      expect((await worker.ask('tools/list')).status).toBe(200);
      if (!isOver) answered++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, keepAsking));
  const { body, message } = await search;
  expect(message.result).toMatchObject({ structuredContent: { total: 5_000 } });
  expect(body).toContain('only its end is read');
  expect(answered).toBeGreaterThanOrEqual(5);
});
