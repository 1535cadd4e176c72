import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { echoBlock, hostileBlock, variable } from '../../servers/start.ts';
import { RawMcp } from '../../support/raw-mcp.ts';
import { hubUrl, RunningAgent } from '../../support/running-agent.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const CANARY = 'canary-7f3k9QzXw2';
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', ECHO_SECRET: CANARY, MCP_LOG_LEVEL: 'debug' });
const countFile = join(squad.root, 'count');

const CONFIG = {
  servers: {
    echo: echoBlock({
      env: { SECRET: variable('ECHO_SECRET'), COUNT_FILE: countFile },
      tools: ['echo', 'count', 'about'],
      cooldown: 1_000,
    }),
    spare: echoBlock({ tools: ['echo'] }),
  },
  agentServers: { coder: ['echo', 'spare'], reviewer: ['echo'] },
  toolRestrictions: { reviewer: { echo: { include: ['echo'] } } },
};
const CODER = ['echo__about', 'echo__count', 'echo__echo', 'spare__echo'];
const REVIEWER = ['echo__echo'];

beforeAll(async () => {
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const write = (config: object) => squad.write('.squad/mcp-config.json', JSON.stringify(config, null, 2));
const trust = async () => {
  const { code, stderr } = await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  expect(code, stderr).toBe(0);
};

interface Upstream {
  server: string;
  health: string;
  pid: number | null;
}
const upstreams = async () => (await squad.json<{ servers: Upstream[] }>(['mcp', 'status'])).servers;
const pidOf = (server: string) =>
  until(`${server} is up`, async () => {
    const found = (await upstreams()).find(each => each.server === server);
    return found?.health === 'up' && found.pid;
  });

const theirs = async (client: Client) => {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name).filter(name => name.includes('__'));
};
const listed = (client: Client, names: string[]) =>
  until(`it sees ${names.join(', ') || 'nothing'}`, async () => {
    const seen = (await theirs(client)).sort();
    return JSON.stringify(seen) === JSON.stringify(names) && seen;
  });
const call = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const result = await client.callTool({ name, arguments: args });
  const [block] = result.content as { text: string }[];
  return { text: block!.text, isError: result.isError === true };
};

describe('a configuration', () => {
  test('gives no tools before it is trusted, and then gives its tools to an agent that is already running', {
    tags: ['B2'],
  }, async () => {
    write(CONFIG);
    await using agent = await RunningAgent.start(squad, 'coder');
    const client = await agent.overHttp(true);
    expect(await theirs(client)).toEqual([]);
    expect(await squad.json(['mcp', 'status'])).toMatchObject({ state: 'untrusted', servers: [] });
    await trust();
    await listed(client, CODER);
  });

  test('that is edited takes effect when it is trusted again, and a client that listens is notified', {
    tags: ['B8'],
  }, async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const client = await RawMcp.legacy(squad, { args: ['--identity', agent.file] });
    const names = async () => {
      const { result } = await client.ask('tools/list');
      return (result!.tools as { name: string }[])
        .map(({ name }) => name)
        .filter(name => name.includes('__'));
    };
    await until('its tools are there', async () => (await names()).length === CODER.length);
    const told = () => client.notices('notifications/tools/list_changed').length;
    const before = told();
    write({
      ...CONFIG,
      servers: { ...CONFIG.servers, spare: echoBlock({ tools: ['echo', 'progress'] }) },
    });
    await until('it is notified that its tools are gone', () => told() > before);
    expect(await names()).toEqual([]);
    await trust();
    await until('the new tool is there', async () => (await names()).includes('spare__progress'));
    expect(told()).toBeGreaterThan(before + 1);
    write(CONFIG);
    await trust();
    await until('it is gone again', async () => !(await names()).includes('spare__progress'));
    await client.close();
  });
});

describe.each([
  ['over HTTP, modern', (agent: RunningAgent) => agent.overHttp(true)],
  ['over HTTP, legacy', (agent: RunningAgent) => agent.overHttp(false)],
  ['over the relay', (agent: RunningAgent) => agent.overRelay()],
])('an agent %s', (_, connect) => {
  test('sees what its role has and can call it', { tags: ['B1'] }, async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const client = await connect(agent);
    await listed(client, CODER);
    expect(await call(client, 'echo__echo', { nonce: agent.id })).toEqual({ text: agent.id, isError: false });
    expect(await call(client, 'spare__echo', { nonce: 'n' })).toEqual({ text: 'n', isError: false });
    expect((await call(client, 'squad_status')).text).toContain(agent.id);
  });

  test("finds another role's tools as unknown as any that does not exist", { tags: ['B1'] }, async () => {
    await using agent = await RunningAgent.start(squad, 'reviewer');
    const client = await connect(agent);
    await listed(client, REVIEWER);
    const refused = async (name: string) => {
      const error = await client.callTool({ name, arguments: {} }).then(
        result => ({ result }),
        thrown => ({ code: thrown.code, message: thrown.message, data: thrown.data }),
      );
      return JSON.stringify(error).replaceAll(name, 'NAME');
    };
    const unknown = await refused('echo__never_was');
    expect(unknown).toContain('NAME');
    const denied = ['echo__count', 'echo__about', 'echo__progress', 'spare__echo', 'nobody__home'];
    for (const name of denied) expect(await refused(name)).toBe(unknown);
    expect(existsSync(countFile)).toBe(false);
    const audited = await squad.json<{ entries: { name: string }[] }>([
      'audit',
      '--denied',
      '--run',
      agent.id,
    ]);
    expect(audited.entries).toHaveLength(denied.length + 1);
    expect((await squad.run(['audit', 'verify'])).code).toBe(0);
  });
});

describe('a server that dies', () => {
  test('is said to be unavailable, with what is still there, and is back by itself', {
    tags: ['B7', 'D7'],
  }, async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const client = await agent.overHttp(true);
    await listed(client, CODER);
    process.kill(await pidOf('echo'), 'SIGKILL');
    const told = await until('it is noticed', async () => {
      const { text } = await call(client, 'echo__echo', { nonce: 'n' });
      return text.includes('is unavailable') && text;
    });
    expect(JSON.parse(told).error).toMatchObject({
      code: 'SERVER_UNAVAILABLE',
      message: expect.stringMatching(/^The server echo is unavailable: .*tried again (in \d+ s|now)/),
      tool_name: 'echo__echo',
      instance_id: agent.id,
    });
    expect(told).toContain('spare (spare__echo)');
    expect(await call(client, 'spare__echo', { nonce: 'other' })).toMatchObject({ text: 'other' });
    await until('it is back', async () => !(await call(client, 'echo__echo', { nonce: 'n' })).isError);
    await listed(client, CODER);
  });

  test('is not called twice for one call', async () => {
    write({
      ...CONFIG,
      servers: {
        ...CONFIG.servers,
        echo: hostileBlock('dies-after-effect', { env: { COUNT_FILE: countFile } }),
      },
    });
    await trust();
    await using agent = await RunningAgent.start(squad, 'coder');
    const client = await agent.overHttp(true);
    await listed(client, ['echo__echo', 'spare__echo']);
    const answer = await call(client, 'echo__echo', { nonce: 'once' });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain('not repeated');
    expect(readFileSync(countFile, 'utf8')).toBe('once\n');
    write(CONFIG);
    await trust();
  });
});

describe('access to the gateway', () => {
  test('refused without a token, with a made-up one, or with that of a run that has ended', async () => {
    const agent = await RunningAgent.start(squad, 'coder');
    const status = async (token: string | null) => {
      const response = await fetch(await hubUrl(squad), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(token !== null && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'echo__echo', arguments: { nonce: 'n' } },
        }),
      });
      await response.text();
      return response.status;
    };
    expect(await status(agent.token)).not.toBe(401);
    expect(await status(null)).toBe(401);
    expect(await status(`${agent.token}x`)).toBe(401);
    await agent.end();
    await until('its token is worth nothing', async () => (await status(agent.token)) === 401);
  });

  test("with another run's token one is that run, and has what it has", async () => {
    await using coder = await RunningAgent.start(squad, 'coder');
    await using reviewer = await RunningAgent.start(squad, 'reviewer');
    await listed(await coder.overHttp(true), CODER);
    await listed(await reviewer.overHttp(true), REVIEWER);
  });
});

test("a secret is the server's alone: no answer, file or word of Squad's has it", async () => {
  const talker = hostileBlock('secret-in-stderr', { env: CONFIG.servers.echo.env });
  write({ ...CONFIG, servers: { ...CONFIG.servers, spare: talker } });
  await trust();
  const agent = await RunningAgent.start(squad, 'coder', 'call echo__about {"env":["SECRET"]}');
  const client = await agent.overHttp(true);
  await listed(client, CODER);
  const about = await call(client, 'echo__about', { env: ['SECRET'] });
  expect(about.isError).toBe(false);
  expect(about.text).not.toContain(CANARY);
  expect(about.text).toContain('SECRET');
  expect((await call(client, 'spare__echo', { nonce: 'n' })).text).toBe('n');
  await until('it is in the log', () =>
    readFileSync(join(squad.home, 'hub.log'), 'utf8').includes('spare: '),
  );
  const words = [
    await squad.run(['mcp', 'status', '--json']),
    await squad.run(['mcp', 'tools', '--role', 'coder']),
    await squad.run(['doctor']),
    await squad.run(['log', agent.id]),
  ];
  for (const { stdout, stderr } of words) expect(stdout + stderr).not.toContain(CANARY);
  await agent.end();
  const forms = [
    CANARY,
    Buffer.from(CANARY).toString('hex'),
    Buffer.from(CANARY).toString('base64').slice(0, 20),
  ];
  const holders = filesIn(squad.home).filter(file => {
    const bytes = readFileSync(file);
    return forms.some(form => bytes.includes(form));
  });
  expect(holders).toEqual([]);
});

test('a hub that is killed takes its servers with it, and the next one has its own', {
  tags: ['R14', 'zombies-and-orphans'],
}, async () => {
  const pidsFile = join(squad.root, 'pids');
  write({
    ...CONFIG,
    servers: { ...CONFIG.servers, spare: hostileBlock('stubborn-parent', { env: { PIDS_FILE: pidsFile } }) },
  });
  await trust();
  await using agent = await RunningAgent.start(squad, 'coder');
  const before = await agent.overHttp(true);
  await listed(before, CODER);
  const children = readFileSync(pidsFile, 'utf8').trim().split('\n').map(Number);
  const left = [await pidOf('echo'), await pidOf('spare'), ...children];
  expect(left.every(isAlive)).toBe(true);
  onTestFinished(() => {
    for (const pid of left) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });

  const hub = await squad.hubPid();
  process.kill(hub, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(hub));
  expect(await squad.hubPid()).not.toBe(hub);
  await until('no server is left', () => left.every(pid => !isAlive(pid)));

  const after = await agent.overHttp(true);
  await listed(after, CODER);
  expect(await call(after, 'echo__echo', { nonce: 'again' })).toEqual({ text: 'again', isError: false });
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(file => statSync(file).isFile());
}
