import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../../../bench/gateway/load.ts';
import { isAlive, kill } from '../processes.ts';
import { createRandom, type Random, roundSeed } from '../random.ts';
import type { AgentEdge, Outcome } from './agent-edge.ts';
import { carriedOutTwice, type Played } from './crossed-calls.ts';
import { GatewayHome } from './gateway-home.ts';
import type { Fate } from './nonce-server.ts';

const SERVERS = 12;
const AGENTS = 6;
const STEADY_AGENTS = 2;
/** By the server itself in a call, by somebody else at any moment, and while it is asked what it has. */
const DEATHS = ['dies-before', 'dies-after', 'dies-in-frame', 'killed', 'dies-in-list'] as const;
/** It says that the call failed and what is known about it, in one of these words. */
const TOLD = /is unavailable|failed in this call|was not ready/;
/** After its last death a server may rest this long. */
const BACK_MS = 40_000;
/** From the death of a server to the last answer of its callers; a goal that is reported, not asserted. */
const MAX_TOLD_MS = 1_000;

/** Servers die at every point of a call, again and again: callers are always told, nothing is done twice, neighbours stay. */
export async function upstreamDeaths(program: string, seed: number, amount: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  const ids = Array.from({ length: SERVERS }, (_, i) => `mortal-${i}`);
  // The shortest there is, so that many deaths fit.
  const mortal = Object.fromEntries(ids.map(id => [id, home.nonceServer(id, { cooldown: 1000 })]));
  await home.configure({
    servers: { ...mortal, steady: home.nonceServer('steady') },
    shared: [...ids, 'steady'],
  });
  const agents = await home.agents(AGENTS + STEADY_AGENTS);
  const tally: Tally = { deaths: 0, said: 0, refused: 0, toldMs: [], problems: [] };
  let isOver = false;
  const steady = agents
    .slice(AGENTS)
    .map(({ edge, runId }) => staysFine(edge, runId, () => isOver, tally.problems));
  await Promise.all(
    ids.map((id, at) => {
      const random = createRandom(roundSeed(seed, at));
      const edges = agents.slice(0, AGENTS).map(({ edge }) => edge);
      return dieOften({ home, id, edges, random }, Math.ceil(amount / SERVERS), tally);
    }),
  );
  isOver = true;
  await Promise.all(steady);
  const starts = home.said('starts').filter(line => line.startsWith('steady ')).length;
  if (starts !== 1) tally.problems.push(`the steady server was started ${starts} times`);
  tally.problems.push(...carriedOutTwice(home.said('effects')), ...(await home.end()));
  const { deaths, said, refused, toldMs, problems } = tally;
  const [p99, most] = [0.99, 1].map(share => percentile(toldMs, share)) as [number, number];
  return {
    reached: deaths,
    isMet: most <= MAX_TOLD_MS,
    told: `${deaths} deaths, ${said} calls answered, ${refused} refused with a reason; after a death the last caller had its answer within ${most.toFixed(0)} ms (p99 ${p99.toFixed(0)} ms)`,
    problems,
  };
}

interface Tally {
  deaths: number;
  said: number;
  refused: number;
  toldMs: number[];
  problems: string[];
}

interface Mortal {
  home: GatewayHome;
  id: string;
  edges: AgentEdge[];
  random: Random;
}

async function dieOften({ home, id, edges, random }: Mortal, deaths: number, tally: Tally): Promise<void> {
  let calls = 0;
  const call = async (fate: Fate, delayMs: number): Promise<Outcome> => {
    const nonce = `${id}/${++calls}`;
    const outcome = await random.pick(edges).call({ name: `${id}__say`, args: { nonce, fate, delayMs } });
    if (outcome.kind === 'said') tally.said++;
    if (outcome.kind === 'refused') tally.refused++;
    tally.problems.push(...wrongIn(nonce, outcome));
    return outcome;
  };
  await isBack(id, call, tally);
  for (let death = 0; death < deaths; death++) {
    const how = random.pick(DEATHS);
    const before = pidsOf(home, id);
    // Some are under way when it happens.
    const others = Array.from({ length: 3 }, () => call('answers', random.between(0, 60)));
    await delay(random.between(0, 20));
    const diesAt = performance.now();
    if (how === 'killed') for (const pid of before) kill(pid, 'SIGKILL');
    else if (how === 'dies-in-list') {
      writeFileSync(join(home.facts, `${id}.dies`), '');
      for (const pid of before) kill(pid, 'SIGKILL');
    } else if ((await call(how, 0)).kind === 'said')
      tally.problems.push(`${id} answered a call that killed it`);
    await Promise.all(others);
    tally.toldMs.push(performance.now() - diesAt);
    tally.deaths++;
    await isBack(id, call, tally);
    if (pidsOf(home, id).filter(isAlive).length > 1) tally.problems.push(`${id} runs more than once`);
  }
}

/** Calls in the meantime are answered at once, too. */
async function isBack(
  id: string,
  call: (fate: Fate, delayMs: number) => Promise<Outcome>,
  tally: Tally,
): Promise<void> {
  for (const end = Date.now() + BACK_MS; Date.now() < end; await delay(100))
    if ((await call('answers', 0)).kind === 'said') return;
  tally.problems.push(`${id} did not come back`);
}

/** As it says itself, the newest last. */
const pidsOf = (home: GatewayHome, id: string): number[] =>
  home.said('starts').flatMap(line => (line.startsWith(`${id} `) ? Number(line.split(' ')[1]) : []));

function wrongIn(nonce: string, outcome: Outcome): string[] {
  if (outcome.kind === 'said')
    return outcome.text === nonce ? [] : [`${nonce} got the answer of ${outcome.text}`];
  if (outcome.kind === 'refused' && TOLD.test(outcome.text)) return [];
  return [`${nonce} was not told what happened: ${JSON.stringify(outcome)}`];
}

/** Its server never dies, so it never hears of any of this. */
async function staysFine(
  edge: AgentEdge,
  runId: string,
  isOver: () => boolean,
  problems: string[],
): Promise<void> {
  for (let i = 0; !isOver(); i++) {
    const nonce = `${runId}/${i}`;
    const outcome = await edge.call({ name: 'steady__say', args: { nonce, delayMs: 5 } });
    if (outcome.kind !== 'said' || outcome.text !== nonce)
      problems.push(`the steady server: ${nonce} got ${JSON.stringify(outcome)}`);
    const tools = await edge.tools();
    if (!tools?.includes('steady__say')) problems.push(`the steady server's tools were not listed: ${tools}`);
  }
}
