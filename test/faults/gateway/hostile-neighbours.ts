import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../../bench/gateway/load.ts';
import { BEHAVIOURS } from '../../servers/hostile/behaviours.ts';
import { hostileBlock } from '../../servers/start.ts';
import { createRandom, roundSeed } from '../random.ts';
import type { AgentEdge, Outcome } from './agent-edge.ts';
import type { Played } from './crossed-calls.ts';
import { EXPOSED, GatewayHome, type RunningAgent } from './gateway-home.ts';

const HONEST_AGENTS = 20;
const AT_ONCE = 8;
/** Of the hub: what servers may do to it must not be more than this, all of them together. */
const MAX_GROWTH_MB = 250;
const TIMEOUT_MS = 1_000;
/** Calls of every honest agent before the first hostile server. */
const QUIET_CALLS = 100;
/** Relative to the quiet p99; a goal that is reported, not asserted. */
const MAX_P99_RATIO = 1.2;
/** A hostile server is there for everybody, for one role, or once for each agent of that role. */
const MODES = ['shared', 'role', 'per-agent'] as const;
type Mode = (typeof MODES)[number];

/**
 * Everything a server can do to its client, while honest agents use an honest server: they notice nothing of it. Each round shares
 * the hostile servers in another way.
 */
export async function hostileNeighbours(program: string, seed: number, rounds: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  const random = createRandom(roundSeed(seed, 0));
  const groups = groupsOf(random.shuffle(Object.keys(BEHAVIOURS)), AT_ONCE);
  await home.configure(configOf(home, [], 'role'));
  const honest = await home.agents(HONEST_AGENTS);
  const victims = await home.agents(2, EXPOSED);
  const problems: string[] = [];
  const [hub] = home.hubPids();
  await Promise.all(honest.map(({ edge }) => edge.tools()));
  const before = rssOf(hub!);
  const work = (times: number[], isOver: (calls: number) => boolean) =>
    Promise.all(honest.map(agent => workHonestly(agent, { times, isOver, problems })));
  const quiet: number[] = [];
  await work(quiet, calls => calls >= QUIET_CALLS);
  let isOver = false;
  const meanwhile: number[] = [];
  const working = work(meanwhile, () => isOver);
  let peak = before;
  let calls = 0;
  for (let round = 0; round < rounds; round++)
    for (const names of groups) {
      const mode = MODES[(seed + round) % MODES.length]!;
      await home.applyTrusted(JSON.stringify(configOf(home, names, mode)));
      const tried = names.flatMap((name, at) =>
        victims.map(({ edge }) => beVictim(edge, `bad-${at}__echo`, name, problems)),
      );
      calls += (await Promise.all(tried)).length;
      peak = Math.max(peak, rssOf(hub!));
    }
  isOver = true;
  await working;
  if (home.hubPids()[0] !== hub) problems.push('the hub is not the one it was');
  if (peak - before > MAX_GROWTH_MB) problems.push(`the hub grew from ${before} MB to ${peak} MB`);
  const starts = home.said('starts').length;
  if (starts !== 1) problems.push(`the honest server was started ${starts} times`);
  problems.push(...(await home.end()));
  const [quietP99, p99] = [quiet, meanwhile].map(times => percentile(times, 0.99)) as [number, number];
  return {
    reached: rounds,
    isMet: p99 <= quietP99 * MAX_P99_RATIO,
    told: `${Object.keys(BEHAVIOURS).length} behaviours in ${rounds} of ${MODES.length} sharing modes, ${calls} calls of such servers, ${meanwhile.length} honest ones without an error, p99 ${p99.toFixed(0)} ms (quiet ${quietP99.toFixed(0)} ms); hub from ${before} MB to ${peak} MB`,
    problems,
  };
}

function configOf(home: GatewayHome, names: string[], mode: Mode): object {
  const env = { SECRET: 'hunter2-canary-9Qz', PIDS_FILE: join(home.facts, 'pids') };
  // The short patience is for those who never answer.
  const instance = mode === 'per-agent' ? mode : 'shared';
  const options = { timeout: TIMEOUT_MS, env, instance } as const;
  const bad = names.map((name, at) => [`bad-${at}`, hostileBlock(name, options)] as const);
  const ids = bad.map(([id]) => id);
  return {
    servers: { good: home.nonceServer('good'), ...Object.fromEntries(bad) },
    shared: mode === 'shared' ? ['good', ...ids] : ['good'],
    agentServers: mode === 'shared' ? {} : { [EXPOSED]: ids },
  };
}

function groupsOf<T>(list: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );
}

/** Any answer counts, but no answer is a problem. */
async function beVictim(edge: AgentEdge, tool: string, name: string, problems: string[]): Promise<Outcome> {
  const tools = await edge.tools();
  if (!tools?.includes('good__say')) problems.push(`beside ${name} the honest tools were not listed`);
  const outcome = await edge.call({ name: tool, args: { nonce: name } });
  if (outcome.kind === 'hung' || outcome.kind === 'broken')
    problems.push(`${name}: its caller got ${JSON.stringify(outcome)}`);
  return outcome;
}

interface HonestWork {
  /** How long each call took, in milliseconds. */
  times: number[];
  isOver(calls: number): boolean;
  problems: string[];
}

async function workHonestly(
  { runId, edge }: RunningAgent,
  { times, isOver, problems }: HonestWork,
): Promise<void> {
  for (let calls = 0; !isOver(calls); await delay(5)) {
    const nonce = `${runId}/${++calls}`;
    const startedAt = performance.now();
    const outcome = await edge.call({ name: 'good__say', args: { nonce, delayMs: calls % 5 } });
    times.push(performance.now() - startedAt);
    if (outcome.kind !== 'said' || outcome.text !== nonce)
      problems.push(`an honest call, ${nonce}: ${JSON.stringify(outcome)}`);
  }
}

function rssOf(pid: number): number {
  const file = `/proc/${pid}/status`;
  const [, kb] = (existsSync(file) && /^VmRSS:\s+(\d+)/m.exec(readFileSync(file, 'utf8'))) || [];
  return Math.round((Number(kb ?? 0) * 1024) / 1e6);
}
