import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { TestSquad } from '../support/squad.ts';
import { storedEvents } from '../support/stored.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { holders } from './files-in.ts';
import { Recorded, toolNamed } from './recorded.ts';

const squad = new TestSquad({ MCP_LOG_LEVEL: 'debug' });
const kept = new Recorded(squad.root, 'kept', { tools: [toolNamed('say')] });
const AGENTS = 20;
let agents: Agent[];

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'limits.concurrency', '50']);
  await configure(squad, {
    servers: { kept: kept.block(), own: kept.block({ instance: 'per-agent' }) },
    shared: ['kept', 'own'],
  });
  agents = await startAgents(squad, ...Array<string>(AGENTS).fill('coder'));
  await Promise.all(
    agents.map(async agent => {
      await agent.sees('kept__say', 'own__say');
      await agent.call('kept__say', { who: agent.id });
      await agent.call('own__say', { who: agent.id });
      await agent.call('squad_status');
      await agent.call('no_such_tool');
    }),
  );
});
afterAll(() => squad[Symbol.asyncDispose]());

const tokens = () => agents.map(({ token }) => token);
const identityOf = ({ id }: Agent) => join(squad.home, 'runs', id, 'turn-1', 'identity.json');

/** Command line or environment of every process that /proc lets this user read. */
function ofProcesses(what: 'cmdline' | 'environ'): { pid: string; text: string }[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        return [{ pid, text: readFileSync(`/proc/${pid}/${what}`, 'utf8') }];
      } catch {
        return []; // ended meanwhile, or another user's
      }
    });
}

test('each agent has a token of its own, in one file that is for the user only', {
  tags: ['R30', 'token-theft'],
}, () => {
  expect(new Set(tokens()).size).toBe(AGENTS);
  for (const agent of agents) {
    expect(holders(squad.root, [agent.token])).toEqual([identityOf(agent)]);
    expect(statSync(identityOf(agent)).mode & 0o777).toBe(0o600);
  }
});

test('no command line of any process has one', { tags: ['token-theft'] }, () => {
  const lines = ofProcesses('cmdline');
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.filter(({ text }) => tokens().some(token => text.includes(token)))).toEqual([]);
});

test('no environment has one but that of its own run', { tags: ['token-theft'] }, () => {
  const found = ofProcesses('environ').flatMap(({ text }) =>
    agents.filter(({ token }) => text.includes(token)).map(({ id }) => text.includes(`SQUAD_RUN_ID=${id}`)),
  );
  expect(found.length).toBeGreaterThanOrEqual(AGENTS);
  expect(found.every(Boolean)).toBe(true);
});

test('no server that agents use is given one, in its environment or in what it is asked', {
  tags: ['token-theft'],
}, () => {
  const seen = JSON.stringify([kept.starts(), kept.asked()]);
  expect(kept.starts().length).toBe(AGENTS + 1);
  for (const token of tokens()) expect(seen).not.toContain(token);
});

test('nothing that Squad tells has one', { tags: ['token-theft'] }, async () => {
  const told = await Promise.all(
    [
      ['ls', '--json'],
      ['log', agents[0]!.id],
      ['show', agents[0]!.id, '--json'],
      ['audit', '--json', '-n', '1000'],
      ['mcp', 'status', '--json'],
      ['hub', 'log', '-n', '10000'],
      ['hub', 'status', '--json'],
      ['doctor', '--json'],
    ].map(words => squad.run(words)),
  );
  const words = JSON.stringify([told, await storedEvents(squad)]);
  for (const token of tokens()) expect(words).not.toContain(token);
});

test('is refused as soon as its run has ended', {
  tags: ['R30', 'token-theft'],
  timeout: figureTimeout(60_000),
}, async () => {
  const [last, ...others] = agents as [Agent, ...Agent[]];
  const tookMs: number[] = [];
  // Each takes two commands, so the suite ends only a few of them.
  const ended = others.slice(0, amountOf(others.length, 2));
  for (const agent of ended) {
    expect((await agent.ask('tools/list')).status).toBe(200);
    await squad.run(['cancel', agent.id]);
    const asked = performance.now();
    // At the first try: its run has ended, so there is nothing to wait for.
    expect((await agent.ask('tools/list')).status).toBe(401);
    tookMs.push(performance.now() - asked);
    expect((await agent.call('kept__say')).status).toBe(401);
  }
  expect((await last.ask('tools/list')).status).toBe(200);
  const slowest = Math.max(...tookMs);
  figure('R30', {
    reached: AGENTS,
    of: 20,
    told: `0 tokens found where they should not be; ${ended.length} revoked, refused at the first request, after ${Math.ceil(slowest)} ms at most`,
    isMet: slowest <= 1_000,
  });
});
