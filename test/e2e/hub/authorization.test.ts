import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { BIN, until } from '../../support/squad.ts';
import { lastSeq, storedEvents } from '../../support/stored.ts';

const squad = new GitSquad({
  helper: 'You help.',
  planner: '---\ntype: planning\n---\nYou plan.',
  coder: '---\ntype: coding\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
  isolated: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  lead: '---\ntype: coding\nspawn: true\n---\nYou lead.',
});

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

/** Valid arguments for each operation, so that a call can fail only because of its caller. */
const CALLS: Record<string, Record<string, unknown>> = {
  request_review: {},
  send_feedback: { feedback: 'Good.', feedback_type: 'approved' },
  create_pull_request: { title: 'It', description: 'All of it' },
  create_issues: { issues: [{ title: 'One', body: 'Do it' }] },
};
const AGENT_TOOLS = Object.keys(CALLS);

/** Written by hand: who has which, and why it comes to nothing for these runs, none of which has a work tree or a token. */
const TABLE: [role: string, has: Record<string, string>][] = [
  ['helper', {}],
  ['planner', { create_pull_request: 'WORKTREE_NEEDED', create_issues: 'GITHUB_TOKEN_MISSING' }],
  ['coder', { request_review: 'WORKTREE_NEEDED', create_pull_request: 'WORKTREE_NEEDED' }],
  ['reviewer', { send_feedback: 'NOT_ALLOWED', create_pull_request: 'NOT_ALLOWED' }],
  ['lead', { request_review: 'WORKTREE_NEEDED', create_pull_request: 'WORKTREE_NEEDED' }],
];

test('the tools of the table, and those to ask with, are all there are for agents alone', () => {
  expect(
    OPERATIONS.filter(({ tool }) => tool?.forAgents)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...AGENT_TOOLS, 'ask_user', 'ask_permission'].sort());
});

describe.each(TABLE)('an agent with the role %s', (role, has) => {
  let agent: RunningAgent;
  beforeAll(async () => {
    agent = await RunningAgent.start(squad, role);
  });
  afterAll(() => agent.end());

  test('sees those of its type and no others', { tags: ['D1'] }, async () => {
    const { tools } = await (await agent.overHttp(true)).listTools();
    const names = tools.map(({ name }) => name);
    expect(names.filter(name => AGENT_TOOLS.includes(name)).sort()).toEqual(Object.keys(has).sort());
    expect(names).toContain('squad_status');
  });

  test.each(AGENT_TOOLS)(
    'calls %s, which is answered as its type says and written down',
    { tags: ['D1', 'D7'] },
    async name => {
      const before = await lastSeq(squad);
      const client = await agent.overHttp(true);
      const call = client.callTool({ name, arguments: CALLS[name] });
      const code = has[name];
      if (code === undefined) await expect(call).rejects.toThrow(name);
      else {
        const { structuredContent, isError } = await call;
        expect(isError).toBe(true);
        expect(structuredContent).toMatchObject({
          ...{ error: code, code, tool_name: name, instance_id: agent.id },
          message: expect.stringContaining(agent.id),
          suggestions: [expect.any(String)],
        });
      }
      const told = (await storedEvents(squad, before)).filter(({ type }) => type === 'tool.called');
      expect(told).toMatchObject([
        { run_id: agent.id, data: { tool: name, ok: false, code: code ?? 'NOT_ALLOWED' } },
      ]);
    },
  );

  test('cannot name another run to do it to', async () => {
    const client = await agent.overHttp(true);
    for (const name of Object.keys(has))
      for (const key of ['run', 'instance_id', 'target_instance_id']) {
        const args = { ...CALLS[name], [key]: 'run_0123456789' };
        const { structuredContent } = await client.callTool({ name, arguments: args });
        expect(structuredContent).toMatchObject({ code: 'INVALID_INPUT' });
      }
  });
});

test('the user has none of them, whatever toolsets they ask for', async () => {
  const client = await squad.client({ args: ['--toolsets', 'core,team,templates'] });
  const { tools } = await client.listTools();
  expect(tools.filter(({ name }) => AGENT_TOOLS.includes(name))).toEqual([]);
  for (const name of AGENT_TOOLS)
    await expect(client.callTool({ name, arguments: CALLS[name] })).rejects.toThrow(name);
});

test("a client that only has a run's mark in the environment has none of them", {
  tags: ['S3'],
}, async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await squad.client({ env: { SQUAD_RUN_ID: agent.id } });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('squad_status');
  expect(names.filter(name => AGENT_TOOLS.includes(name))).toEqual([]);
  for (const name of AGENT_TOOLS) {
    const before = await lastSeq(squad);
    await expect(client.callTool({ name, arguments: CALLS[name] })).rejects.toThrow(name);
    expect(await storedEvents(squad, before)).toMatchObject([
      { run_id: agent.id, type: 'tool.called', data: { tool: name, code: 'NOT_ALLOWED' } },
    ]);
  }
});

test.each(['mark', 'mark and the token'])(
  'a coder that detaches a program with the %s of its reviewer does not approve its own work',
  { tags: ['acting-as-the-user'] },
  async what => {
    const frames = [
      {
        ...{ id: 1, method: 'initialize' },
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'forged', version: '1' },
        },
      },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'send_feedback', arguments: CALLS.send_feedback } },
    ].map(frame => JSON.stringify({ jsonrpc: '2.0', ...frame }));
    squad.write('../frames', `${frames.join('\n')}\n`);
    const answers = join(squad.root, `answers with the ${what}`.replaceAll(' ', '-'));
    // Its input stays open until the answer is there.
    squad.script(
      '../fake.sh',
      `(cat ${squad.root}/frames; n=0; until grep -q '"id":2' ${answers} || [ $((n+=1)) -gt 100 ]; do sleep 0.1; done) | ${process.execPath} ${BIN} mcp $IDENTITY > ${answers} 2>&1`,
    );
    const review = { reviewer_prompt: script('hang') };
    const task = script(
      'write a.txt',
      '| a',
      `call request_review ${JSON.stringify(review)}`,
      'await forged',
    );
    const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'isolated', `Build.${task}`]);
    const reviews = async () =>
      (await squad.json<{ reviews: { reviewerId: string; outcome: string | null }[] }>(['review', runIds[0]]))
        .reviews;
    const [open] = await until('it is reviewed', async () => (await reviews()).length === 1 && reviews());
    const identity =
      what === 'mark' ? '' : `--identity ${squad.home}/runs/${open!.reviewerId}/turn-1/identity.json`;
    const forger = await RunningAgent.start(
      squad,
      'coder',
      `run setsid -f env -i PATH="$PATH" HOME="$HOME" SQUAD_HOME=${squad.home} SQUAD_RUN_ID=${open!.reviewerId} IDENTITY='${identity}' ${squad.root}/fake.sh >/dev/null 2>&1 </dev/null`,
    );
    const said = await until('it is answered', async () => {
      const text = existsSync(answers) ? readFileSync(answers, 'utf8') : '';
      return text.includes('"id":2') && text;
    });
    expect(said).toContain('send_feedback');
    expect(said).toContain('"error"');
    expect(await reviews()).toMatchObject([{ outcome: null }]);
    await forger.end();
    await squad.run(['cancel', runIds[0]]);
  },
);

test('a run that has ended has none of them left', { tags: ['S3'] }, async () => {
  const agent = await RunningAgent.start(squad, 'coder');
  const client = await agent.overRelay();
  await agent.end();
  const before = await lastSeq(squad);
  await expect(client.callTool({ name: 'request_review', arguments: {} })).rejects.toThrow('request_review');
  expect(await storedEvents(squad, before)).toMatchObject([
    { run_id: agent.id, type: 'tool.called', data: { tool: 'request_review', code: 'NOT_ALLOWED' } },
  ]);
});

test('a reviewer speaks to the run it reviews, whoever else waits', { tags: ['D3'] }, async () => {
  const ask = (line: string) => `call request_review ${JSON.stringify({ reviewer_prompt: script(line) })}`;
  const start = async (line: string) => {
    const task = `Build.${script('write a.txt', '| a', ask(line))}`;
    return (await squad.json<{ runIds: string[] }>(['run', '-d', 'isolated', task])).runIds[0]!;
  };
  const reviewsOf = async (id: string) =>
    (await squad.json<{ reviews: { outcome: string | null }[] }>(['review', id])).reviews;
  const waits = await start('hang');
  await until('one is reviewed', async () => (await reviewsOf(waits)).length === 1);
  const heard = await start(`call send_feedback ${JSON.stringify(CALLS.send_feedback)}`);
  await until('the other has its feedback', async () => (await reviewsOf(heard))[0]?.outcome === 'approved');
  expect(await reviewsOf(waits)).toMatchObject([{ outcome: null }]);
  await squad.run(['cancel', waits]);
});
