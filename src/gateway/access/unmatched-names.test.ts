import { expect, test } from 'vitest';
import { GatewayFixture, local, plainRequest } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';
import { settled } from '../testing/virtual-time.ts';

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

function githubServer(): MemoryServer {
  const github = new MemoryServer();
  github.tools = ['create_pull_request', 'merge_pull_request', 'list_issues'].map(tool);
  return github;
}

function setUp(restriction: object, more: object = {}, roles?: readonly string[]) {
  const github = githubServer();
  const config = (changed: object) => ({
    servers: { github: local({ tools: ['*'] }) },
    agentServers: { tester: ['github'], lead: ['github'] },
    toolRestrictions: { tester: { github: changed } },
    ...more,
  });
  const fixture = new GatewayFixture({
    ...{ connect: connectTo({ github }), config: config(restriction) },
    ...(roles && { roles }),
  });
  const run = fixture.run('tester');
  const view = fixture.view(run);
  const names = async (of = view) => (await of.tools()).map(({ name }) => name.replace('github__', ''));
  return { fixture, github, run, view, names, restrict: (to: object) => fixture.reconfigure(config(to)) };
}

const LIST = ['create_pull_request', 'list_issues', 'merge_pull_request'];

test.each([
  ['create_pull_request', 'merge_pull_request'],
  ['github_create_pull_request', 'github_merge_pull_request'],
  ['github__create_pull_request', 'github__merge_pull_request'],
])('restrictions may name tools as %s', { tags: ['B3'] }, async (...entries) => {
  const excluded = setUp({ exclude: entries });
  await using _ = excluded.fixture;
  expect(await excluded.names()).toEqual(['list_issues']);
  expect(await excluded.view.call('github__create_pull_request', {}, plainRequest())).toBeNull();

  const included = setUp({ include: entries });
  await using __ = included.fixture;
  expect(await included.names()).toEqual(['create_pull_request', 'merge_pull_request']);
  expect([excluded.fixture.notes, included.fixture.notes]).toEqual([[], []]);
});

test('a name in include that means no tool gives nothing, and the result of the run says so', {
  tags: ['B3'],
}, async () => {
  const { fixture, run, names } = setUp({ include: ['list_isues', 'merge_pull_request'] });
  await using _ = fixture;
  expect(await names()).toEqual(['merge_pull_request']);
  expect(fixture.notes).toEqual([
    `${run.id} The MCP server github has no tool "list_isues", which toolRestrictions.tester.github.include names. Did you mean "list_issues"?`,
  ]);
});

test('a name in exclude that means no tool hides the server from that role until it is corrected', {
  tags: ['B3'],
}, async () => {
  const { fixture, run, view, names, restrict } = setUp({ exclude: ['create_pull_reqest'] });
  await using _ = fixture;
  expect(await names()).toEqual([]);
  expect(await view.call('github__list_issues', {}, plainRequest())).toBeNull();
  expect(fixture.audit.at(-1)).toMatchObject({
    decision: 'denied',
    name: 'list_issues',
    outcome: 'unmatched',
  });
  expect(view.notice()).toContain('github: its tools are hidden from the role tester');
  expect(fixture.notes).toEqual([
    `${run.id} The MCP server github has no tool "create_pull_reqest", which toolRestrictions.tester.github.exclude names. Did you mean "create_pull_request" or "merge_pull_request"? The tools of github stay hidden from the role tester until you correct the name in .squad/mcp-config.json, or confirm it with \`squad mcp approve github/create_pull_reqest\`.`,
  ]);
  expect(await names(fixture.view(fixture.run('lead')))).toEqual(LIST);
  restrict({ exclude: ['create_pull_request'] });
  expect(await names()).toEqual(['list_issues', 'merge_pull_request']);
  expect(view.notice()).toBeNull();
});

test.each(['delete_repository', 'github__delete_*'])(
  '%s in exclude can be confirmed as it is',
  { tags: ['B3'] },
  async entry => {
    const { fixture, run, names } = setUp({ exclude: [entry] });
    await using _ = fixture;
    expect(await names()).toEqual([]);
    const [pending, ...others] = await fixture.gateway.pending(fixture.workspace);
    expect(others).toEqual([]);
    expect(pending).toMatchObject({ server: 'github', tool: entry, kind: 'unmatched' });
    expect(pending!.diff[0]).toContain('toolRestrictions.tester.github.exclude');
    fixture.changes.length = 0;
    const approved = await fixture.gateway.approve(fixture.workspace, { hashes: [pending!.hash] });
    expect(approved).toEqual([pending]);
    await settled();
    expect(fixture.changes).toContain(`${run.id} tools`);
    expect(await names()).toEqual(LIST);
    expect(await fixture.gateway.pending(fixture.workspace)).toEqual([]);
    expect(await fixture.gateway.status(fixture.workspace)).toMatchObject([{ tools: 3, pending: 0 }]);
  },
);

test('a confirmed name stays confirmed when the server lists its tools again, and means the tool when it appears', async () => {
  const { fixture, github, names } = setUp({ exclude: ['delete_repository'] });
  await using _ = fixture;
  await names();
  await fixture.gateway.approve(fixture.workspace, {});
  github.tools = [...github.tools, tool('delete_repository'), tool('new')];
  github.say('notifications/tools/list_changed', {});
  await settled();
  expect(await names()).toEqual(LIST);
  await fixture.gateway.approve(fixture.workspace, {});
  await settled();
  expect(await names()).toEqual(['create_pull_request', 'list_issues', 'merge_pull_request', 'new']);
});

test('the result of a run names servers that its role is given and that do not exist', async () => {
  const { fixture, run, names } = setUp(
    { include: ['*'] },
    { agentServers: { tester: ['github', 'gitlab'], lead: ['nowhere'] } },
  );
  await using _ = fixture;
  expect(await names()).toEqual(LIST);
  expect(fixture.notes).toEqual([
    `${run.id} There is no MCP server "gitlab", which agentServers.tester names. Did you mean "github"?`,
  ]);
});

const restrictedElsewhere = (toolRestrictions: object, more: object = {}, roles?: readonly string[]) =>
  setUp({ include: ['*'] }, { toolRestrictions, ...more }, roles);

test('a restriction for a server that does not exist hides every server from its role until it is corrected', {
  tags: ['B3'],
}, async () => {
  const wrong = { tester: { githup: { exclude: ['list_issues'] }, squad: { exclude: ['x'] } } };
  const { fixture, run, view, names } = restrictedElsewhere(wrong);
  await using _ = fixture;
  expect(await names()).toEqual([]);
  expect(await view.call('github__list_issues', {}, plainRequest())).toBeNull();
  expect(fixture.audit.at(-1)).toMatchObject({ decision: 'denied', outcome: 'unmatched' });
  expect(view.notice()).toContain(
    'github: its tools are hidden from the role tester, because a restriction names a server or role that does not exist',
  );
  expect(fixture.notes).toEqual([
    `${run.id} There is no MCP server "githup", which toolRestrictions.tester.githup names. Did you mean "github"? The tools of all MCP servers stay hidden from the role tester until you correct the name in .squad/mcp-config.json, or confirm it with \`squad mcp approve githup/toolRestrictions.tester\`.`,
  ]);
  expect(await names(fixture.view(fixture.run('lead')))).toEqual(LIST);
  fixture.reconfigure({
    servers: { github: local({ tools: ['*'] }) },
    agentServers: { tester: ['github'] },
    toolRestrictions: { tester: { github: { exclude: ['list_issues'] } } },
  });
  expect(await names()).toEqual(['create_pull_request', 'merge_pull_request']);
  expect(view.notice()).toBeNull();
});

test('an argument rule for a server that does not exist hides every server from its roles', async () => {
  const rule = { server: 'githup', role: 'tes*', argument: 'title', maxLength: 3 };
  const { fixture, names } = restrictedElsewhere({}, { argumentRules: [rule] });
  await using _ = fixture;
  expect(await names()).toEqual([]);
  expect(fixture.notes[0]).toContain('"githup", which argumentRules[0] names. Did you mean "github"?');
  expect(await names(fixture.view(fixture.run('lead')))).toEqual(LIST);
});

test('a restriction for a server that does not exist can be confirmed, for that role only and for good', async () => {
  const wrong = { exclude: ['x'] };
  const { fixture, run, names } = restrictedElsewhere({ tester: { slack: wrong }, lead: { slack: wrong } });
  await using _ = fixture;
  expect(await names()).toEqual([]);
  const pending = await fixture.gateway.pending(fixture.workspace);
  expect(pending).toMatchObject([
    { server: 'slack', tool: 'toolRestrictions.tester', kind: 'dangling' },
    { server: 'slack', tool: 'toolRestrictions.lead', kind: 'dangling' },
  ]);
  expect(pending[0]!.diff).toEqual([
    ' There is no MCP server "slack", which toolRestrictions.tester.slack names.',
    ' The tools of all servers are hidden from the role tester.',
  ]);
  fixture.changes.length = 0;
  const [first] = pending;
  expect(await fixture.gateway.approve(fixture.workspace, { hashes: [first!.hash] })).toEqual([first]);
  await settled();
  expect(fixture.changes).toContain(`${run.id} tools`);
  expect(await names()).toEqual(LIST);
  expect(await names(fixture.view(fixture.run('lead')))).toEqual([]);
  expect(await fixture.gateway.pending(fixture.workspace)).toHaveLength(1);

  const later = new GatewayFixture({
    connect: connectTo({ github: githubServer() }),
    config: {
      servers: { github: local({ tools: ['*'] }) },
      agentServers: { tester: ['github'] },
      toolRestrictions: { tester: { slack: wrong } },
    },
    pins: fixture.pins,
  });
  await using __ = later;
  expect(await names(later.view(later.run('tester')))).toEqual(LIST);
  expect(later.notes).toEqual([]);
});

test('a restriction for an unknown role hides its server from roles with a similar name', {
  tags: ['B3'],
}, async () => {
  const roles = ['tester', 'lead', 'coder'];
  const wrong = { testr: { github: { exclude: ['list_issues'] } } };
  const { fixture, run, names } = restrictedElsewhere(wrong, {}, roles);
  await using _ = fixture;
  expect(await names()).toEqual([]);
  expect(fixture.notes).toEqual([
    `${run.id} There is no role "testr", which toolRestrictions.testr.github names. Did you mean "tester"? The tools of github stay hidden from the role tester until you correct the name in .squad/mcp-config.json, or confirm it with \`squad mcp approve github/toolRestrictions.testr\`.`,
  ]);
  expect(await names(fixture.view(fixture.run('lead')))).toEqual(LIST);
  expect(await fixture.gateway.pending(fixture.workspace, roles)).toMatchObject([
    { server: 'github', tool: 'toolRestrictions.testr', kind: 'dangling' },
  ]);
  const tools = await fixture.gateway.toolsOf(fixture.workspace, 'tester', [], {}, roles);
  expect(tools.tools.map(({ isVisible }) => isVisible)).toEqual([false, false, false]);
  await fixture.gateway.approve(fixture.workspace, { server: 'github' }, roles);
  await settled();
  expect(await names()).toEqual(LIST);
});

test('a restriction for an unknown role that resembles no role hides nothing, and the result says so', async () => {
  const roles = ['tester', 'lead'];
  const wrong = { scribe: { github: { exclude: ['list_issues'] } } };
  const { fixture, run, names } = restrictedElsewhere(wrong, {}, roles);
  await using _ = fixture;
  expect(await names()).toEqual(LIST);
  expect(fixture.notes).toEqual([
    `${run.id} There is no role "scribe", which toolRestrictions.scribe.github names. It restricts nobody. Correct the name, or confirm it with \`squad mcp approve github/toolRestrictions.scribe\`.`,
  ]);
});

test('a rule on arguments of a tool that is not there hides the server as well; one for a pattern does not', async () => {
  const rule = { server: 'github', argument: 'title', maxLength: 10 };
  const named = setUp({ include: ['*'] }, { argumentRules: [{ ...rule, tool: 'create_pr' }] });
  await using _ = named.fixture;
  expect(await named.names()).toEqual([]);
  expect(named.fixture.notes[0]).toContain('argumentRules[0].tool');
  const pattern = setUp({ include: ['*'] }, { argumentRules: [{ ...rule, tool: 'delete_*' }] });
  await using __ = pattern.fixture;
  expect(await pattern.names()).toEqual(LIST);
});

test('a rule on arguments holds for a tool by any of its names', async () => {
  const { fixture, view, names } = setUp(
    { include: ['*'] },
    { argumentRules: [{ server: 'github', tool: 'github_list_issues', argument: 'title', maxLength: 3 }] },
  );
  await using _ = fixture;
  expect(await names()).toEqual(LIST);
  const answer = await view.call('github__list_issues', { arguments: { title: 'long' } }, plainRequest());
  expect(JSON.stringify(answer)).toContain('maxLength');
});
