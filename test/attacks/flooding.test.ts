import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { echoBlock, hostileBlock } from '../servers/start.ts';
import { TestSquad, until } from '../support/squad.ts';
import { storedEvents } from '../support/stored.ts';
import { type Agent, type Answer, agentOf, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';

/** Floods by name, each with the error that Squad reports. Null: the server is only noisy between its answers. */
const FLOODS: Record<string, RegExp | null> = {
  'endless-bytes': /message of more than \d+ bytes/,
  'huge-frame': /message of more than \d+ bytes/,
  'deep-json': null,
  'tiny-frames': null,
  'blank-lines': null,
  'stderr-flood': null,
  'stderr-line': null,
  'invalid-json': null,
};
const MEBIBYTE = 1024 * 1024;
/** 64 MiB more than before, and what a collector of garbage has not come to yet on a busy machine. */
const MAX_GROWTH = (64 + 64) * MEBIBYTE;

const squad = new TestSquad();
let victim: Agent;
let honest: Agent;

beforeAll(async () => {
  await squad.unlimited();
  const names = Object.keys(FLOODS);
  await configure(squad, {
    servers: {
      good: echoBlock(),
      // A flood that ends at a size limit may take long to reach it.
      ...Object.fromEntries(
        names.map(name => [name, hostileBlock(name, { timeout: FLOODS[name] ? 60_000 : 2_000 })]),
      ),
    },
    agentServers: { coder: names, reviewer: ['good'] },
  });
  [victim, honest] = (await startAgents(squad, 'coder', 'reviewer')) as [Agent, Agent];
  await until('all are listed', async () => (await victim.theirs()).length >= names.length);
  await honest.sees('good__about', 'good__count', 'good__echo', 'good__progress');
});
afterAll(() => squad[Symbol.asyncDispose]());

const memory = async () => (await squad.json<{ memoryBytes: number }>(['hub', 'status'])).memoryBytes;

describe('a server that sends without measure', () => {
  test.each(Object.entries(FLOODS))(
    '(%s) costs nobody else a call, and the hub no memory to speak of',
    { tags: ['flooding'] },
    async (name, fault) => {
      const before = await memory();
      let isOver = false;
      const flood = victim.call(`${name}__echo`, { nonce: 'n' }).finally(() => {
        isOver = true;
      });
      let calls = 0;
      // One after the other for as long as it lasts, and a few in any case.
      while (!isOver || calls < 5) {
        const nonce = `honest ${++calls}`;
        const { message } = await honest.call('good__echo', { nonce });
        expect(message.result?.content).toEqual([{ type: 'text', text: nonce }]);
      }
      const { message } = await flood;
      expect(message.result ?? message.error).toBeDefined();
      if (fault) {
        const found = (await upstreamsOf(squad)).find(({ server }) => server === name)!;
        expect(found.fault).toMatch(fault);
        expect((await squad.run(['mcp', 'status'])).stdout).toContain(name);
      }
      const good = (await upstreamsOf(squad)).find(({ server }) => server === 'good')!;
      expect(good).toMatchObject({ health: 'up', fault: null });
      await until('the memory is back', async () => (await memory()) - before < MAX_GROWTH);
    },
  );
});

const THREADS = 50;
const PER_MINUTE = 30;
const AT_ONCE = 4;
const SPAWNER = '---\nspawn: true\n---\nYou lead.';
const task = (...script: string[]) => ['Work.', '```script', ...script, '```'].join('\n');

test('an agent that starts agents from 50 threads gets no more than the limits allow, and its errors name the limit and its lineage', {
  tags: ['R17'],
  timeout: figureTimeout(120_000),
}, async () => {
  await using own = new TestSquad({ SQUAD_AGENTS_DIR: 'roles' });
  own.write('roles/lead.md', SPAWNER);
  own.write('roles/coder.md', 'You code.');
  await own.json(['trust', '--yes', 'roles/lead.md']);
  await own.json(['config', 'set', 'limits.spawns_per_minute', String(PER_MINUTE)]);
  await own.json(['config', 'set', 'limits.concurrency', String(AT_ONCE)]);
  const [first] = (await startAgents(own, 'lead')) as [Agent];
  const spawn = (by: Agent, roleId: string, prompt: string) =>
    by.call('spawn_agent', { engine: 'scripted', roleId, prompt, include_context: false, async: true });
  const second = await agentOf(own, startedRun(await spawn(first, 'lead', task('hang'))), 'lead');

  const began = performance.now();
  const until = began + amountOf(60) * 1000;
  let calls = 0;
  const started: string[] = [];
  const refusals = new Set<string>();
  const thread = async () => {
    while (performance.now() < until) {
      const answer = await spawn(second, 'coder', task('sleep 300ms'));
      calls++;
      const error = refusalIn(answer);
      if (error) refusals.add(`${error.code}: ${error.message}`);
      else if (performance.now() < began + 60_000) started.push(startedRun(answer));
    }
  };
  /** How long another agent waits for an answer meanwhile. */
  const times: number[] = [];
  const neighbour = async () => {
    while (performance.now() < until) {
      const askedAt = performance.now();
      await first.tools();
      times.push(performance.now() - askedAt);
    }
  };
  await Promise.all([neighbour(), ...Array.from({ length: THREADS }, thread)]);

  expect([...refusals]).toEqual([
    `SPAWN_RATE_LIMIT: 1 more run would make 31 starts in a minute; the limit is 30 (limits.spawns_per_minute); asked for by lead ${first.id} → lead ${second.id}`,
  ]);
  // Both leads were started within the same minute, and may be a minute old before the last call.
  expect([PER_MINUTE - 2, PER_MINUTE - 1, PER_MINUTE]).toContain(started.length);
  expect(await mostAtOnce(own)).toBe(AT_ONCE);
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
  figure('R17', {
    reached: amountOf(60),
    of: 60,
    told: `${calls} calls of ${THREADS} threads in ${amountOf(60)} s, ${started.length} starts, at most ${AT_ONCE} at once; another agent was answered within ${p99.toFixed(0)} ms (p99)`,
    isMet: p99 < 250,
  });
});

interface Started {
  spawn_id: string;
  error?: { code: string; message: string };
}

function refusalIn({ message }: Answer): Started['error'] | undefined {
  return message.result?.isError ? (message.result.structuredContent as Started).error : undefined;
}

function startedRun({ message, body }: Answer): string {
  const id = (message.result?.structuredContent as Started | undefined)?.spawn_id;
  if (!id) throw new Error(body);
  return id;
}

/** By the events of all runs, in their order. */
async function mostAtOnce(of: TestSquad): Promise<number> {
  const running = new Set<string>();
  let most = 0;
  for (const { type, run_id } of await storedEvents(of)) {
    if (type === 'run.started') running.add(run_id!);
    if (type === 'run.ended') running.delete(run_id!);
    most = Math.max(most, running.size);
  }
  return most;
}
