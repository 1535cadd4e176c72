import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BEHAVIOURS } from '../../servers/hostile/behaviours.ts';
import { hostileBlock } from '../../servers/start.ts';
import { createRandom, roundSeed } from '../random.ts';
import type { AgentEdge, Outcome } from './agent-edge.ts';
import type { Played } from './crossed-calls.ts';
import { type AtWork, EXPOSED, GatewayHome } from './gateway-home.ts';

const HONEST_AGENTS = 10;
const AT_ONCE = 8;
/** Of the hub: what servers may do to it must not be more than this, all of them together. */
const MOST_GROWTH_MB = 250;
const TIMEOUT_MS = 1_000;

/** Everything a server can do to its client, while honest agents use an honest server: they notice nothing of it. */
export async function hostileNeighbours(program: string, seed: number, rounds: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  const random = createRandom(roundSeed(seed, 0));
  const configs = groupsOf(random.shuffle(Object.keys(BEHAVIOURS)), AT_ONCE).map(names => ({
    names,
    config: configOf(home, names),
  }));
  await home.configure(configs[0]!.config);
  const honest = await home.agents(HONEST_AGENTS);
  const victims = await home.agents(2, EXPOSED);
  const problems: string[] = [];
  const [hub] = home.hubPids();
  await Promise.all(honest.map(({ edge }) => edge.tools()));
  const before = rssOf(hub!);
  let isOver = false;
  const work = honest.map(agent => workHonestly(agent, () => isOver, problems));
  let peak = before;
  let calls = 0;
  for (let round = 0; round < rounds; round++)
    for (const { names, config } of configs) {
      await home.applyTrusted(JSON.stringify(config));
      const tried = names.flatMap((name, at) =>
        victims.map(({ edge }) => beVictim(edge, `bad-${at}__echo`, name, problems)),
      );
      calls += (await Promise.all(tried)).length;
      peak = Math.max(peak, rssOf(hub!));
    }
  isOver = true;
  const honestCalls = (await Promise.all(work)).reduce((sum, each) => sum + each, 0);
  if (home.hubPids()[0] !== hub) problems.push('the hub is not the one it was');
  if (peak - before > MOST_GROWTH_MB) problems.push(`the hub grew from ${before} MB to ${peak} MB`);
  const starts = home.said('starts').length;
  if (starts !== 1) problems.push(`the honest server was started ${starts} times`);
  problems.push(...(await home.end()));
  return {
    reached: rounds,
    told: `${Object.keys(BEHAVIOURS).length} behaviours, ${calls} calls of such servers, ${honestCalls} honest ones; hub from ${before} MB to ${peak} MB`,
    problems,
  };
}

function configOf(home: GatewayHome, names: string[]): object {
  const env = { SECRET: 'hunter2-canary-9Qz', PIDS_FILE: join(home.facts, 'pids') };
  // The short patience is for those who never answer.
  const bad = names.map((name, at) => [`bad-${at}`, hostileBlock(name, { timeout: TIMEOUT_MS, env })]);
  return {
    servers: { good: home.nonceServer('good'), ...Object.fromEntries(bad) },
    shared: ['good'],
    agentServers: { [EXPOSED]: bad.map(([id]) => id) },
  };
}

function groupsOf<T>(list: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );
}

/** Whatever it is told, it is told something. */
async function beVictim(edge: AgentEdge, tool: string, name: string, problems: string[]): Promise<Outcome> {
  const tools = await edge.tools();
  if (!tools?.includes('good__say')) problems.push(`beside ${name} the honest tools were not listed`);
  const outcome = await edge.call({ name: tool, args: { nonce: name } });
  if (outcome.kind === 'hung' || outcome.kind === 'broken')
    problems.push(`${name}: its caller got ${JSON.stringify(outcome)}`);
  return outcome;
}

async function workHonestly(
  { runId, edge }: AtWork,
  isOver: () => boolean,
  problems: string[],
): Promise<number> {
  let calls = 0;
  for (; !isOver(); await delay(5)) {
    const nonce = `${runId}/${++calls}`;
    const outcome = await edge.call({ name: 'good__say', args: { nonce, delayMs: calls % 5 } });
    if (outcome.kind !== 'said' || outcome.text !== nonce)
      problems.push(`an honest call, ${nonce}: ${JSON.stringify(outcome)}`);
  }
  return calls;
}

function rssOf(pid: number): number {
  const file = `/proc/${pid}/status`;
  const [, kb] = (existsSync(file) && /^VmRSS:\s+(\d+)/m.exec(readFileSync(file, 'utf8'))) || [];
  return Math.round((Number(kb ?? 0) * 1024) / 1e6);
}
