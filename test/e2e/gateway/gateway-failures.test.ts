import { expect, test } from 'vitest';
import { echoBlock, variable } from '../../servers/start.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { TestSquad, until } from '../../support/squad.ts';
import { type Squad, strictCall } from '../../support/tools.ts';

interface Shown {
  status: string;
  notes: string[];
}

test('a run whose servers are broken goes on to its end, and its result names each and why', {
  tags: ['B7', 'R12'],
}, async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.write(
    '.squad/mcp-config.json',
    JSON.stringify({
      servers: {
        unset: echoBlock({ env: { TOKEN: variable('TOKEN_NOBODY_SET') } }),
        gone: { command: './not-there', tools: ['*'] },
        mortal: echoBlock(),
        well: echoBlock(),
      },
      agentServers: { coder: ['unset', 'gone', 'mortal', 'well'] },
    }),
  );
  expect((await squad.run(['trust', '-y', '.squad/mcp-config.json'])).code).toBe(0);
  const agent = await RunningAgent.start(squad, 'coder', 'call well__echo {"nonce":"still here"}');
  interface Upstream {
    server: string;
    pid: number | null;
  }
  const pid = await until('it is up', async () => {
    const { servers } = await squad.json<{ servers: Upstream[] }>(['mcp', 'status']);
    return servers.find(({ server }) => server === 'mortal')?.pid;
  });
  process.kill(pid, 'SIGKILL');
  await until('it is missed', async () => {
    const { servers } = await squad.json<{ servers: (Upstream & { failures: number })[] }>(['mcp', 'status']);
    return servers.some(({ server, failures }) => server === 'mortal' && failures > 0);
  });
  // Not every client shows its model what a server says of itself, but every one the descriptions of tools.
  const { tools } = await (await agent.overHttp(true)).listTools();
  const description = tools.find(({ name }) => name === 'squad_status')?.description;
  expect(description).toContain('unset: the variable TOKEN_NOBODY_SET is not set');
  expect(description).toMatch(/Still there for your role: .*well/);
  await agent.end();

  const { stdout } = await squad.run(['log', agent.id]);
  expect(stdout).toContain('still here');
  const { run } = await squad.json<{ run: Shown }>(['show', agent.id]);
  const { status, notes } = run;
  expect(status).toBe('completed');
  expect(notes).toContain(
    'The MCP server unset was not available: the variable TOKEN_NOBODY_SET is not set.',
  );
  expect(notes).toContainEqual(expect.stringMatching(/^The MCP server gone was not available: .*not-there/));
  expect(notes).toContainEqual(
    expect.stringMatching(/^The MCP server mortal failed during the run: .*SIGKILL/),
  );
  expect(notes.filter(note => note.includes('well'))).toEqual([]);

  const shown = (await squad.run(['show', agent.id])).stdout.replace(/\s+/g, ' ');
  expect(shown).toContain(
    'The MCP server unset was not available: the variable TOKEN_NOBODY_SET is not set.',
  );
  expect(shown).toContain('The MCP server mortal failed during the run');
  const log = (await squad.run(['hub', 'log', '-n', '500'])).stdout.split('\n');
  for (const server of ['unset', 'gone', 'mortal'])
    expect(log.filter(line => line.includes(`The MCP server ${server} `))).toHaveLength(1);
});

test('the log that a person watches says so, too', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  await squad.run(['mcp', 'add', 'gone', '--role', 'coder', '--', './not-there']);
  const ran = await squad.run(['run', 'coder', 'x\n```script\nsleep 1s\n```']);
  expect((ran.stdout + ran.stderr).replace(/\s+/g, ' ')).toContain('The MCP server gone was not available');
});

test('every shape of a result names the servers that a run had to do without', { tags: ['B7'] }, async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  await squad.run(['mcp', 'add', 'gone', '--role', 'coder', '--', './not-there']);
  const client = await squad.client();
  const task = 'x\n```script\nsleep 1s\n```';
  const said = expect.stringContaining('The MCP server gone was not available: ');

  const started = await strictCall<Squad>(client, 'start_squad_members', {
    members: [
      { roleId: 'coder', task },
      { roleId: 'reviewer', task },
    ],
  });
  const { squadId: squad_id } = started;
  for (const { members } of [started, await strictCall<Squad>(client, 'get_result', { squad_id })])
    expect(members.map(({ note }) => note)).toEqual([said, undefined]);

  const { results } = await strictCall<{ results: { spawn_id: string; note?: string }[] }>(
    client,
    'spawn_parallel',
    { agents: [{ prompt: task, roleId: 'coder' }, { prompt: task }] },
  );
  expect(results.map(({ note }) => note)).toEqual([said, undefined]);
  const one = await strictCall<{ note?: string }>(client, 'get_result', { spawn_id: results[0]!.spawn_id });
  expect(one.note).toEqual(said);
});

test('an agent whose call times out gets the list of servers it still has, and the timeout is shown to the user', {
  tags: ['B7'],
}, async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.write(
    '.squad/mcp-config.json',
    JSON.stringify({
      servers: { late: echoBlock({ timeout: 5_000 }), well: echoBlock({ tools: ['echo'] }) },
      agentServers: { coder: ['late', 'well'] },
    }),
  );
  expect((await squad.run(['trust', '-y', '.squad/mcp-config.json'])).code).toBe(0);
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await agent.overHttp(true);
  const isListed = async () => (await client.listTools()).tools.some(({ name }) => name === 'well__echo');
  await until('its tools are there', isListed);
  const call = async (args: Record<string, unknown>) => {
    const { content } = await client.callTool({ name: 'late__echo', arguments: args });
    return (content as { text: string }[])[0]!.text;
  };
  await until('it answers', async () => (await call({ nonce: 'first' })) === 'first');
  expect(JSON.parse(await call({ nonce: 'n', delayMs: 60_000 })).error.message).toMatch(
    /^The server late is unavailable: No answer .*being tried again now\. Still there for your role: well \(well__echo\)\./,
  );
  await until('it answers again', async () => (await call({ nonce: 'again' })) === 'again');
  const { stdout } = await squad.run(['mcp', 'status'], { env: { COLUMNS: '200' } });
  expect(stdout).toMatch(/^late +stdio +up .*\(1 failed\) +\S+ ago: No answer/m);
  expect(stdout).toMatch(/^well +stdio +up .* 0 *$/m);
});
