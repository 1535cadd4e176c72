import { expect, test } from 'vitest';
import { echoBlock } from '../../servers/start.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { TestSquad, until } from '../../support/squad.ts';

interface Gateway {
  state: string;
  warnings: string[];
  servers: { server: string; health: string; fault: string | null }[];
}

async function started(config: object): Promise<TestSquad> {
  const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.write('.squad/mcp-config.json', JSON.stringify(config, null, 2));
  expect((await squad.run(['trust', '-y', '.squad/mcp-config.json'])).code).toBe(0);
  return squad;
}

const notesOf = async (squad: TestSquad, id: string) =>
  (await squad.json<{ run: { notes: string[] } }>(['show', id])).run.notes;

const toolsOf = async (agent: RunningAgent) => {
  const { tools } = await (await agent.overHttp(true)).listTools();
  return tools.map(({ name }) => name).filter(name => name.includes('__'));
};

test('a single bad server is disabled and named, and the rest of the file works, with Squad itself in it and underscores', {
  tags: ['B5'],
}, async () => {
  await using squad = await started({
    servers: {
      my_server: echoBlock({ resources: ['*'] }),
      // As Squad's own connection was once written down.
      squad: { type: 'local', command: 'node', args: ['./mcp-server.js'], cwd: '.', tools: ['*'] },
      broken: { command: './x', tools: '*' },
    },
    agentServers: { coder: ['my_server', 'squad', 'broken'] },
    toolRestrictions: { coder: { my_server: { include: ['my_server_echo', 'my_server__count'] } } },
  });
  const agent = await RunningAgent.start(squad, 'coder', 'call my_server__echo {"nonce":"over there"}');
  const names = await until('its tools are there', async () => {
    const found = await toolsOf(agent);
    return found.length > 0 && found;
  });
  expect(names).toEqual(['my_server__count', 'my_server__echo']);
  const { state, servers } = await squad.json<Gateway>(['mcp', 'status']);
  expect(state).toBe('trusted');
  expect(servers.map(({ server, health }) => [server, health]).sort()).toEqual([
    ['broken', 'unusable'],
    ['my_server', 'up'],
  ]);
  const description = (await (await agent.overHttp(true)).listTools()).tools.find(
    ({ name }) => name === 'squad_status',
  )?.description;
  expect(description).toContain('broken: ');
  await agent.end();
  expect((await squad.run(['log', agent.id])).stdout).toContain('over there');
  expect(await notesOf(squad, agent.id)).toEqual([
    expect.stringMatching(/^The MCP server broken was not available: "servers\.broken\.tools" /),
  ]);
  expect((await squad.run(['mcp', 'remove', 'broken'])).code).toBe(0);
  expect((await squad.json<Gateway>(['mcp', 'status'])).servers).toHaveLength(1);
});

test('names that mean no tool are in the result, in the status and at the web UI; an exclude hides until it is confirmed', {
  tags: ['B3'],
}, async () => {
  await using squad = await started({
    servers: { echo: echoBlock(), other: echoBlock() },
    agentServers: { coder: ['echo', 'other'] },
    toolRestrictions: {
      coder: { echo: { exclude: ['cuont'] }, other: { include: ['other_echo', 'nothing_like_it'] } },
    },
  });
  const agent = await RunningAgent.start(squad, 'coder');
  await until('the other is there', async () => (await toolsOf(agent)).includes('other__echo'));
  expect(await toolsOf(agent)).toEqual(['other__echo']);
  const hidden = 'The MCP server echo has no tool "cuont", which toolRestrictions.coder.echo.exclude names.';
  await until('both are noted', async () => (await notesOf(squad, agent.id)).length === 2);
  expect(await notesOf(squad, agent.id)).toEqual(
    expect.arrayContaining([
      expect.stringContaining(hidden),
      expect.stringContaining('other has no tool "nothing_like_it"'),
    ]),
  );
  const said = [
    expect.stringContaining('There is no tool "cuont" in echo, so its tools are hidden'),
    expect.stringContaining('There is no tool "nothing_like_it" in other'),
  ];
  // The web UI shows what this answers.
  expect((await squad.json<Gateway>(['mcp', 'status'])).warnings).toEqual(said);
  const { stdout } = await squad.run(['mcp', 'status']);
  expect(stdout.replace(/\s+/g, ' ')).toContain('There is no tool "cuont" in echo');
  expect(stdout).toContain('1 waiting for approval: squad mcp approve');

  const asked = await squad.run(['mcp', 'approve']);
  expect([asked.code, asked.stdout, asked.stderr]).toEqual([
    3,
    expect.stringContaining('echo/cuont matches no tool'),
    expect.stringContaining('show the other tools of echo?'),
  ]);
  expect((await squad.run(['mcp', 'approve', 'echo/cuont', '--yes'])).stdout).toContain(
    'approved  echo/cuont',
  );
  await until('all are there', async () => (await toolsOf(agent)).includes('echo__count'));
  expect((await squad.json<Gateway>(['mcp', 'status'])).warnings).toEqual([said[1]]);
  await agent.end();
});

test('a restriction for a misspelt server or role hides tools until it is confirmed, and the result says how', {
  tags: ['B3'],
}, async () => {
  const restriction = { exclude: ['count'] };
  await using squad = await started({
    servers: { echo: echoBlock() },
    agentServers: { coder: ['echo'] },
    toolRestrictions: { coder: { ecko: restriction }, codr: { echo: restriction } },
  });
  const agent = await RunningAgent.start(squad, 'coder');
  const notes = await until('both are noted', async () => {
    const found = await notesOf(squad, agent.id);
    return found.length === 2 && found;
  });
  const hidden = 'stay hidden from the role coder until you correct the name';
  expect(notes).toEqual([
    expect.stringMatching(
      `^There is no MCP server "ecko", .* Did you mean "echo"\\? .* ${hidden} .*\`squad mcp approve ecko/toolRestrictions.coder\``,
    ),
    expect.stringMatching(
      `^There is no role "codr", .* Did you mean "coder"\\? .* ${hidden} .*\`squad mcp approve echo/toolRestrictions.codr\``,
    ),
  ]);
  expect(await toolsOf(agent)).toEqual([]);
  expect((await squad.run(['mcp', 'status'])).stdout).toContain('2 waiting for approval: squad mcp approve');
  const seen = await squad.json<{ tools: { reason: string | null }[] }>(['mcp', 'tools', '--role', 'coder']);
  expect(seen.tools[0]?.reason).toContain('hidden: a restriction names a tool, server or role');

  await squad.run(['mcp', 'approve', 'ecko/toolRestrictions.coder', '--yes']);
  expect(await toolsOf(agent)).toEqual([]);
  const approved = await squad.run(['mcp', 'approve', 'echo/toolRestrictions.codr', '--yes']);
  expect(approved.stdout).toContain('approved  echo/toolRestrictions.codr');
  await until('all are there', async () => (await toolsOf(agent)).includes('echo__count'));
  await agent.end();
});

test('a file that cannot be read is in the result of the run', async () => {
  await using squad = await started({ servers: { echo: echoBlock() }, shared: ['echo'] });
  const file = { servers: { echo: echoBlock() }, toolRestrictions: { coder: 'all' } };
  squad.write('.squad/mcp-config.json', JSON.stringify(file));
  await squad.run(['hub', 'stop']);
  const agent = await RunningAgent.start(squad, 'coder');
  const [note, ...more] = await until('it is noted', async () => {
    const notes = await notesOf(squad, agent.id);
    return notes.length > 0 && notes;
  });
  expect(note).toMatch(
    /^The MCP servers of the workspace were not available: .*"toolRestrictions\.coder" is wrong/,
  );
  expect(more).toEqual([]);
  await agent.end();
});
