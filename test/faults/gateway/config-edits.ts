import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../patience.ts';
import { createRandom, type Random, roundSeed } from '../random.ts';
import type { AgentEdge, Outcome } from './agent-edge.ts';
import type { Played } from './crossed-calls.ts';
import { GatewayHome } from './gateway-home.ts';

const AGENTS = 50;
/** So many of them, chosen anew, try every tool after an edit. */
const COMPARING = 6;
/** Between two calls of one agent: 50 of them leave something of the machine to the edits. */
const PAUSE_MS = 50;
const IDS = ['steady', 'first', 'second'];
const TOOLS = ['say', 'repeat'];
const VARIANTS = 8;
const KINDS = ['valid', 'valid', 'bad entry', 'invalid', 'half', 'untrusted'] as const;

type Block = Record<string, unknown> & { tools: string[] };
type Servers = Record<string, Block>;

/**
 * The configuration is edited while agents call: what cannot be read or is not trusted gives nobody anything, what was taken
 * away is refused from the next call, and no server is started again unless what it is started with has changed.
 */
export async function configEdits(program: string, seed: number, edits: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  const random = createRandom(roundSeed(seed, 0));
  const variants = Array.from({ length: VARIANTS }, () => variantOf(home, random));
  await home.configure(configOf(variants[0]!));
  const agents = await home.agents(AGENTS);
  const world: World = {
    home,
    inForce: variants[0]!,
    starts: new Map(),
    isGap: false,
    gaps: 0,
    problems: [],
  };
  count(world, {});
  let isOver = false;
  const work = agents.map(({ edge, runId }) => callSteady(edge, runId, world, () => isOver));
  for (let i = 0; i < edits; i++) {
    const kind = random.pick(KINDS);
    await edit(world, kind, random.pick(variants), random);
    const comparing = random.shuffle(agents).slice(0, COMPARING);
    await Promise.all(comparing.map(({ edge }) => compare(edge, `edit ${i} (${kind})`, world)));
    await startsSaid(world);
  }
  isOver = true;
  const calls = (await Promise.all(work)).reduce((sum, each) => sum + each, 0);
  const { problems } = world;
  for (const [id, expected] of world.starts) {
    const started = startsOf(home, id);
    if (started !== expected) problems.push(`${id} was started ${started} times instead of ${expected}`);
  }
  problems.push(...(await home.end()));
  const starts = [...world.starts.values()].reduce((sum, each) => sum + each, 0);
  const told = `${edits} edits under ${agents.length} agents, ${calls} calls meanwhile, ${starts} starts of servers`;
  return { reached: edits, told, problems };
}

interface World {
  home: GatewayHome;
  /** Servers of the configuration that is in force. */
  inForce: Servers;
  /** How often each must have been started by now. */
  starts: Map<string, number>;
  /** Nothing counts, or may not count yet or any more; and how often that began. */
  isGap: boolean;
  gaps: number;
  problems: string[];
}

const configOf = (servers: Servers) => ({ servers, shared: Object.keys(servers) });

/** The steady one is always there, and always the same. */
function variantOf(home: GatewayHome, random: Random): Servers {
  const block = (id: string, more: object) => home.nonceServer(id, more) as Block;
  const servers: Servers = { steady: block('steady', {}) };
  for (const id of IDS.slice(1))
    if (random.chance(0.7))
      servers[id] = block(id, {
        tools: random.pick([TOOLS, ['say'], ['repeat'], []]),
        env: { VARIANT: String(random.between(1, 2)) },
      });
  return servers;
}

async function edit(
  world: World,
  kind: (typeof KINDS)[number],
  variant: Servers,
  random: Random,
): Promise<void> {
  const { home } = world;
  const text = JSON.stringify(configOf(variant));
  const before = world.inForce;
  const isUsable = kind === 'valid' || kind === 'bad entry';
  const next = isUsable ? variant : kind === 'untrusted' ? {} : before;
  if (!next.steady || !before.steady) {
    world.gaps++;
    world.isGap = true;
  }
  const apply = (edited: string) => (isUsable ? home.applyTrusted(edited) : home.apply(edited));
  const state = await apply(
    {
      valid: () => text,
      // One bad server is disabled by itself: the rest of the file counts.
      'bad entry': () => JSON.stringify({ ...configOf(variant), servers: { ...variant, bad: {} } }),
      invalid: () => JSON.stringify({ ...configOf(variant), servers: [] }),
      half: () => text.slice(0, random.between(1, text.length - 1)),
      untrusted: () => JSON.stringify({ ...configOf(variant), agentServers: { [`role-${world.gaps}`]: [] } }),
    }[kind](),
  );
  const expected = isUsable ? 'trusted' : kind === 'untrusted' ? 'untrusted' : 'invalid';
  if (state !== expected) world.problems.push(`a file that is ${kind} counts as ${state}`);
  world.inForce = next;
  world.isGap = !next.steady;
  count(world, before);
}

/** A server that was not there before, or was started with something else, is started. */
function count({ inForce, starts }: World, before: Servers): void {
  const startedWith = (block: Block | undefined) => block && [block.command, block.args, block.env];
  for (const [id, block] of Object.entries(inForce))
    if (!isDeepStrictEqual(startedWith(block), startedWith(before[id])))
      starts.set(id, (starts.get(id) ?? 0) + 1);
}

const startsOf = (home: GatewayHome, id: string): number =>
  home.said('starts').filter(line => line.startsWith(`${id} `)).length;

/** Nobody calls a server without tools: the next edit could end it before it has said that it started. */
const startsSaid = ({ home, starts, problems }: World): Promise<unknown> =>
  until('every server that counts to be started', () =>
    [...starts].every(([id, expected]) => startsOf(home, id) >= expected),
  ).catch((error: Error) => problems.push(error.message));

/** One call of each tool that ever is: those that count now answer, every other one is as unknown as any. */
async function compare(edge: AgentEdge, when: string, { inForce, problems }: World): Promise<void> {
  for (const id of IDS)
    for (const tool of TOOLS) {
      const nonce = `${when}: ${id} ${tool}`;
      const outcome = await edge.call({ name: `${id}__${tool}`, args: { nonce } });
      const block = inForce[id];
      const isThere = block && (block.tools.includes('*') || block.tools.includes(tool));
      const isRight = isThere ? isAnswer(outcome, nonce) : isUnknown(outcome, `${id}__${tool}`);
      if (!isRight)
        problems.push(`${nonce}: ${isThere ? 'there' : 'not there'}, got ${JSON.stringify(outcome)}`);
    }
}

/** Whoever uses a server that no edit touches does not notice any; only when nothing counts has nobody anything. */
async function callSteady(
  edge: AgentEdge,
  runId: string,
  world: World,
  isOver: () => boolean,
): Promise<number> {
  let calls = 0;
  for (; !isOver(); await delay(PAUSE_MS)) {
    const nonce = `${runId}/${++calls}`;
    const { isGap, gaps } = world;
    const outcome = await edge.call({ name: 'steady__say', args: { nonce, delayMs: 3 } });
    if (isAnswer(outcome, nonce)) continue;
    const mayBeGone = isGap || gaps !== world.gaps;
    if (!(mayBeGone && (isUnknown(outcome, 'steady__say') || wasTakenAway(outcome))))
      world.problems.push(`${nonce}: the steady server, got ${JSON.stringify(outcome)}`);
  }
  return calls;
}

const isAnswer = (outcome: Outcome, nonce: string): boolean =>
  outcome.kind === 'said' && outcome.text === nonce;

const isUnknown = (outcome: Outcome, name: string): boolean =>
  outcome.kind === 'refused' && outcome.text === `-32602 Unknown tool: ${name}`;

/** The first call waits until the server has started, and an edit can take the server away before that. */
const wasTakenAway = (outcome: Outcome): boolean =>
  outcome.kind === 'refused' && outcome.text.includes('The server steady is unavailable: it is not needed');
