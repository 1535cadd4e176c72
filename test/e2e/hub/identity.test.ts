import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawMcp } from '../../support/raw-mcp.ts';
import { BIN, callTool, isAlive, TestSquad, until } from '../../support/squad.ts';
import { lastSeq, storedEvents, tokenHashOf } from '../../support/stored.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', NODE: process.execPath, SQUAD: BIN });
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
mkdirSync(squad.env.SQUAD_AGENTS_DIR);
writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'coder.md'), 'You code.\n');
writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'lead.md'), '---\nspawn: true\n---\nYou lead.\n');

beforeAll(async () => {
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const CLI = '"$NODE" "$SQUAD"';
const scripted = (...lines: string[]) => `x\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;

interface Agent {
  id: string;
  file: string;
  token: string;
  end(): Promise<void>;
}

let released = 0;

/** A run that stays running until it is released, and the credentials of its agent. */
async function startRunning(role: string, ...lines: string[]): Promise<Agent> {
  const go = `go-${++released}`;
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...['run', '-d', role, scripted(...lines, `await ${go}`)],
  ]);
  const id = runIds[0]!;
  const file = join(squad.home, 'runs', id, 'turn-1', 'identity.json');
  await until('it is running', async () => (await shown(id)).run.status === 'running');
  return {
    id,
    file,
    token: JSON.parse(readFileSync(file, 'utf8')).token,
    async end() {
      squad.write(go, '');
      await until('it has ended', async () => (await shown(id)).run.endedAt !== null);
    },
  };
}

interface Shown {
  run: {
    status: string;
    endedAt: number | null;
    depth: number;
    parentId: string | null;
  };
  result: { result: string };
}
const shown = (id: string) => squad.shown<Shown>(id);
const toRun = async (role: string, ...lines: string[]) => {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', role, scripted(...lines)]);
  await until('it has ended', async () => (await shown(runIds[0]!)).run.endedAt !== null);
  return { id: runIds[0]!, said: (await shown(runIds[0]!)).result.result };
};

async function port(): Promise<URL> {
  const { url } = await squad.json<{ url: string }>(['hub', 'start']);
  return new URL(url);
}

async function overHttp(token: string, modern = true): Promise<Client> {
  const client = new Client(
    { name: 'agent', version: '1' },
    { versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : 'legacy' } },
  );
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(await port(), { requestInit }));
  return client;
}

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

async function status(token: string): Promise<number> {
  const response = await fetch(await port(), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  await response.text();
  return response.status;
}

describe('an agent whose role grants nothing', () => {
  test.each([
    ['over HTTP, modern', (agent: Agent) => overHttp(agent.token)],
    ['over HTTP, legacy', (agent: Agent) => overHttp(agent.token, false)],
    ['over the relay', (agent: Agent) => squad.client({ args: ['--identity', agent.file] })],
    [
      'over the relay, with no more environment than a client may leave',
      (agent: Agent) =>
        squad.client({ args: ['--identity', agent.file], env: { SQUAD_HOME: '', SQUAD_AGENTS_DIR: '' } }),
    ],
  ])(
    '%s: sees squad_status, which knows it, the search of decisions, a way to ask, and nothing else',
    async (_, connect) => {
      const agent = await startRunning('coder');
      const client = await connect(agent);
      expect(await names(client)).toEqual(['squad_status', 'squad_decision_search', 'ask_user']);
      expect(await callTool(client, 'squad_status')).toMatchObject({
        run: { spawn_id: agent.id, role_id: 'coder', status: 'running', depth: 0, may_spawn: false },
        children: [],
      });
      await client.close();
      await agent.end();
    },
  );

  test('finds every other tool as unknown as one that does not exist, and each try is an event', async () => {
    const before = await lastSeq(squad);
    const agent = await startRunning('coder');
    const client = await RawMcp.legacy(squad, { args: ['--identity', agent.file] });
    const denied = [
      'start_squad_members',
      'spawn_agent',
      'list_roles',
      'get_result',
      'cancel_run',
      'stop_hub',
    ];
    const words = async (name: string) => JSON.stringify((await client.answer(client.call(name))).error);
    for (const name of denied)
      expect((await words(name)).replaceAll(name, 'no_such_tool')).toBe(await words('no_such_tool'));
    await client.close();
    const codes = (await storedEvents(squad, before))
      .filter(({ type, run_id }) => type === 'tool.called' && run_id === agent.id)
      .map(({ data }) => [data.tool, data.code]);
    for (const name of denied) expect(codes).toContainEqual([name, 'NOT_ALLOWED']);
    expect(codes).toContainEqual(['no_such_tool', 'UNKNOWN_OPERATION']);
    await agent.end();
  });

  test.each([
    ['as it is', CLI],
    ['without its environment', `env -i HOME="$HOME" SQUAD_HOME="$SQUAD_HOME" ${CLI}`],
    ["with another run's mark", `SQUAD_RUN_ID=run_0000000000 ${CLI}`],
  ])('may do nothing with a terminal of ours started %s', async (_, command) => {
    const before = await lastSeq(squad);
    const { id, said } = await toRun(
      'coder',
      ...[
        'ls',
        'run coder hello',
        'cancel --all',
        'hub stop',
        'trust --yes agents/x.md',
        'prune',
        'config set limits.depth 9',
      ].map(words => `try ${command} ${words}`),
    );
    expect(said.match(/\(NOT_ALLOWED\)/g)).toHaveLength(7);
    expect(said.match(/\(exit code 4\)/g)).toHaveLength(7);
    expect(said.match(new RegExp(`inside run ${id}`, 'g'))).toHaveLength(7);
    expect(said).toContain('`spawn: true`');
    const denied = (await storedEvents(squad, before)).filter(
      ({ type, run_id, data }) => type === 'tool.called' && run_id === id && data.code === 'NOT_ALLOWED',
    );
    expect(denied.map(({ data }) => data.tool)).toEqual(
      expect.arrayContaining([
        'start_squad',
        'cancel_run',
        'stop_hub',
        'change_trust',
        'prune',
        'change_setting',
      ]),
    );
    expect(existsSync(join(squad.home, 'trust.json'))).toBe(false);
  });

  test('may do nothing more once it has ended, with what it left behind', async () => {
    const { id } = await toRun('lead');
    const left = await squad.run(['ls'], { env: { SQUAD_RUN_ID: id } });
    expect(left.code).toBe(4);
    expect(left.stderr).toMatch(new RegExp(`belongs to run ${id}, which has ended.*NOT_ALLOWED`));
  });

  test('is known by its processes, not by what it says of itself', {
    tags: ['A12', 'B10', 'D1', 'token-theft'],
  }, async () => {
    const other = await startRunning('lead');
    const said = (await toRun('coder', `try SQUAD_RUN_ID=${other.id} ${CLI} ls`)).said;
    expect(said).toContain('(NOT_ALLOWED)');
    expect(said).not.toContain(`inside run ${other.id}`);
    const stolen = `try ${CLI} mcp --identity ${other.file} </dev/null; echo '{}' | ${CLI} mcp --identity ${other.file}`;
    expect((await toRun('coder', stolen)).said).toContain('the identity belongs to another run');
    await other.end();
  });
});

describe('an agent whose role grants spawn', () => {
  test('sees what it takes to start runs, and starts them one level deeper', async () => {
    const agent = await startRunning('lead');
    const client = await overHttp(agent.token);
    expect(await names(client)).toEqual(
      expect.arrayContaining([
        'squad_status',
        'list_roles',
        'start_squad_members',
        'get_result',
        'cancel_run',
      ]),
    );
    const started = await callTool<{ members: { memberId: string; status: string }[] }>(
      client,
      'start_squad_members',
      { members: [{ roleId: 'coder', task: 'x' }] },
    );
    expect(started.members[0]!.status).toBe('completed');
    const child = started.members[0]!.memberId;
    expect((await shown(child)).run).toMatchObject({ depth: 1, parentId: agent.id });
    expect(await callTool(client, 'squad_status')).toMatchObject({
      run: { may_spawn: true },
      children: [{ spawn_id: child, role_id: 'coder', status: 'completed' }],
    });
    await client.close();
    await agent.end();
  });

  test("finds nobody else's runs: they are not there for it", async () => {
    const stranger = await startRunning('coder');
    const { said } = await toRun(
      'lead',
      `call get_result {"spawn_id":"${stranger.id}"}`,
      `call get_result {"spawn_id":"${stranger.id.slice(0, 12)}"}`,
      `call cancel_run {"spawn_id":"${stranger.id}"}`,
      `try ${CLI} show ${stranger.id}`,
      `try ${CLI} log ${stranger.id}`,
      `try ${CLI} ls --all`,
    );
    expect(said.match(/RUN_UNKNOWN/g)).toHaveLength(5);
    expect(said).not.toContain('Did you mean');
    expect(said.split('ls --all').at(-1)).not.toContain('run_');
    expect((await shown(stranger.id)).run.status).toBe('running');
    await stranger.end();
  });

  test('reaches what came of the runs it started, also when those have ended', async () => {
    const agent = await startRunning('lead');
    const client = await overHttp(agent.token);
    const inner = scripted(`run ${CLI} run -d coder grandchild`);
    const { members } = await callTool<{ members: { memberId: string; rawStdout: string }[] }>(
      client,
      'start_squad_members',
      { members: [{ roleId: 'lead', task: inner }] },
    );
    const grandchild = /run_[0-9a-z]{10}/.exec(members[0]!.rawStdout)![0];
    expect((await shown(grandchild)).run).toMatchObject({ depth: 2, parentId: members[0]!.memberId });
    const seen = await callTool(client, 'get_result', { spawn_id: grandchild, wait_seconds: 90 });
    expect(seen).toMatchObject({ spawn_id: grandchild, status: 'completed' });
    await client.close();
    await agent.end();
  });

  test('lists and cancels only what it started', async () => {
    const stranger = await startRunning('coder');
    const agent = await startRunning('lead');
    const client = await overHttp(agent.token);
    const own = client.callTool({
      name: 'start_squad_members',
      arguments: { members: [{ roleId: 'coder', task: scripted('hang') }] },
    });
    const running = await until('its child is listed', async () => {
      const listed = await callTool<{ agents: { spawn_id: string }[]; count: number }>(
        client,
        'list_running',
      );
      return listed.count > 0 ? listed : null;
    });
    expect(running.count).toBe(1);
    const child = running.agents[0]!.spawn_id;
    expect((await shown(child)).run.parentId).toBe(agent.id);
    expect(await callTool(client, 'cancel_run', { all: true })).toMatchObject({
      runs: [{ spawn_id: child, status: 'cancelled' }],
    });
    await own;
    for (const { id } of [agent, stranger]) expect((await shown(id)).run.status).toBe('running');
    await client.close();
    await agent.end();
    await stranger.end();
  });

  test('gives no more permission than it has, except by a role', async () => {
    const { said } = await toRun(
      'lead',
      'call spawn_agent {"prompt":"x","permission":"full"}',
      'call spawn_agent {"prompt":"x","permission":"read"}',
    );
    expect(said).toMatch(
      /spawn_agent refused: .*"NOT_ALLOWED".*permission .*edit.* cannot start a run with permission .*full/,
    );
    expect(said).toMatch(/spawn_agent: .*"status":"completed"/);
  });

  test('still may not change what is the user’s', async () => {
    const { said } = await toRun(
      'lead',
      ...['hub stop', 'trust --yes x', 'prune', 'config set limits.depth 9'].map(
        words => `try ${CLI} ${words}`,
      ),
      ...['change_setting', 'stop_hub', 'prune', 'change_trust'].map(tool => `call ${tool}`),
    );
    expect(said.match(/\(NOT_ALLOWED\)/g)).toHaveLength(4);
    expect(said.match(/refused: Unknown tool/g)).toHaveLength(4);
  });
});

/** One whose listening stream nobody has opened yet. */
async function secondSession(token: string): Promise<string> {
  const response = await fetch(await port(), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: HANDSHAKE }),
  });
  await response.text();
  return response.headers.get('mcp-session-id')!;
}

const HANDSHAKE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'by hand', version: '1' },
};

describe('a token', () => {
  test('ends with its run: for requests, for sessions and for the relay', { tags: ['D1'] }, async () => {
    const agent = await startRunning('coder');
    const client = await overHttp(agent.token, false);
    await callTool(client, 'squad_status');
    expect(await status(agent.token)).not.toBe(401);
    const listening = await fetch(await port(), {
      headers: {
        authorization: `Bearer ${agent.token}`,
        accept: 'text/event-stream',
        'mcp-session-id': await secondSession(agent.token),
      },
    });
    expect(listening.status).toBe(200);
    await agent.end();
    await listening.text(); // settles only when the stream is over
    expect(await status(agent.token)).toBe(401);
    await expect(callTool(client, 'squad_status')).rejects.toThrow();
    await client.close().catch(() => {});
    const relay = new RawMcp(squad, { args: ['--identity', agent.file] });
    const refused = await relay.ask('initialize', {});
    expect(JSON.stringify(refused.error)).toContain('NOT_ALLOWED');
    await relay.close();
  });

  test("is no use in another's session", { tags: ['missing-authentication-on-loopback'] }, async () => {
    const [one, other] = [await startRunning('lead'), await startRunning('coder')];
    const client = await overHttp(one.token, false);
    const { sessionId } = client.transport as StreamableHTTPClientTransport;
    const ask = async (token: string) => {
      const response = await fetch(await port(), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': sessionId!,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      });
      await response.text();
      return response.status;
    };
    expect(await ask(one.token)).toBe(200);
    expect(await ask(other.token)).toBe(404);
    expect(await ask(readFileSync(join(squad.home, 'token'), 'utf8').trim())).toBe(404);
    await client.close();
    await one.end();
    await other.end();
  });

  test('is in its own file, for its owner only, and nowhere else', async () => {
    const agent = await startRunning('coder', 'call squad_status', `try ${CLI} ls`);
    await until('it has asked', async () =>
      (await squad.run(['log', agent.id])).stdout.includes('NOT_ALLOWED'),
    );
    expect(statSync(agent.file).mode & 0o777).toBe(0o600);
    expect(holding(squad.home, agent.token)).toEqual([agent.file]);
    if (process.platform === 'linux') {
      const commands = execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' });
      expect(commands).toContain(agent.id);
      expect(commands).not.toContain(agent.token);
    }
    expect(JSON.stringify(await squad.json(['show', agent.id]))).not.toContain(agent.token);
    expect(await tokenHashOf(squad, agent.id)).toMatch(/^[0-9a-f]{64}$/);
    await agent.end();
    expect(await tokenHashOf(squad, agent.id)).toBeNull();
  });
});

function holding(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(file => readFileSync(file).includes(text));
}

async function killHub(): Promise<void> {
  const hub = await squad.hubPid();
  process.kill(hub, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(hub));
}

describe('an agent that runs when the hub dies', () => {
  test('goes on calling over HTTP, at the same address with the same token', { tags: ['D1'] }, async () => {
    const agent = await startRunning('coder', 'call squad_status', 'await second', 'call squad_status');
    await until('it has called', async () =>
      (await squad.run(['log', agent.id])).stdout.includes('squad_status: {'),
    );
    const before = await port();
    await killHub();
    expect(await port()).toEqual(before);
    squad.write('second', '');
    await agent.end();
    const { result } = (await shown(agent.id)).result;
    expect(result.match(new RegExp(`"spawn_id":"${agent.id}"`, 'g'))).toHaveLength(2);
  });

  test('goes on calling over the relay, which starts the next hub', async () => {
    const agent = await startRunning('coder');
    const relay = await RawMcp.legacy(squad, { args: ['--identity', agent.file] });
    const own = { run: { spawn_id: agent.id } };
    expect(await relay.told(relay.call('squad_status'))).toMatchObject(own);
    await killHub();
    expect(await relay.told(relay.call('squad_status'))).toMatchObject(own);
    await relay.close();
    await agent.end();
  });

  test('is known by its file when the hub did not live to record its start', async () => {
    const agent = await startRunning('coder');
    await killHub();
    const database = new Database(join(squad.home, 'squad.db'));
    database.prepare('update runs set token_hash = null where id = ?').run(agent.id);
    database.close();
    const client = await overHttp(agent.token);
    expect(await callTool(client, 'squad_status')).toMatchObject({ run: { spawn_id: agent.id } });
    await client.close();
    await agent.end();
  });
});

test.each([
  ['is not there', () => join(squad.root, 'nowhere.json'), 'cannot be read: ENOENT'],
  [
    'others can read',
    () => identityFile('open.json', 0o644, '{"token":"t","home":"/"}'),
    'can be read by others',
  ],
  ['says nothing', () => identityFile('empty.json', 0o600, '{}'), 'holds no identity'],
])('an identity file that %s is wrong use, and said', async (_, file, words) => {
  const { code, stdout, stderr } = await squad.run(['mcp', '--identity', file()]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^squad mcp: INVALID_INPUT: The identity file /);
  expect(stderr).toContain(words);
});

function identityFile(name: string, mode: number, content: string): string {
  const file = join(squad.root, name);
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

test('a squad sees of each other how it is doing, and no more', async () => {
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...['run', '-d', 'coder', scripted('await both-seen'), 'lead', scripted('await both-seen')],
  ]);
  const file = join(squad.home, 'runs', runIds[0]!, 'turn-1', 'identity.json');
  await until('both are running', async () =>
    (await Promise.all(runIds.map(shown))).every(({ run }) => run.status === 'running'),
  );
  const client = await squad.client({ args: ['--identity', file] });
  expect(await callTool(client, 'squad_status')).toMatchObject({
    siblings: [{ role_id: 'lead', status: 'running' }],
  });
  expect(JSON.stringify(await callTool(client, 'squad_status'))).not.toContain(runIds[1]);
  squad.write('both-seen', '');
});

test('the user sees counts, limits and money with the toolset for it, and does not pay for it otherwise', async () => {
  expect(await names(await squad.client())).not.toContain('squad_status');
  const client = await squad.client({ args: ['--toolsets', 'team'] });
  expect(await callTool(client, 'squad_status')).toMatchObject({
    running: expect.any(Number),
    queued: 0,
    limits: { 'limits.depth': 2 },
    spent_today_usd: 0,
  });
});
