import { createRandom, type Random, roundSeed } from '../random.ts';
import type { AgentEdge, Outcome } from './agent-edge.ts';
import { GatewayHome } from './gateway-home.ts';

const AGENTS = 50;
const IN_FLIGHT = 4;
const CANCELLED = 0.3;
const MAX_DELAY_MS = 12;
const MAX_STEPS = 3;

/**
 * Agents that all use the same ids and progress tokens call one server at once, at random, and take back a third of it:
 * every answer and every word of progress is for its own call, and each call is carried out once.
 */
export async function crossedCalls(program: string, seed: number, calls: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  await home.configure({ servers: { nonce: home.nonceServer('nonce') }, shared: ['nonce'] });
  const agents = await home.agents(AGENTS);
  const tally: Tally = { said: 0, cancelled: 0, progress: 0, problems: [] };
  await Promise.all(
    agents.flatMap(({ runId, edge }, agent) =>
      Array.from({ length: IN_FLIGHT }, (_, slot) => {
        const random = createRandom(roundSeed(seed, agent * IN_FLIGHT + slot));
        const share = Math.ceil(calls / (AGENTS * IN_FLIGHT));
        return callMany(edge, { random, share, prefix: `${runId}/${slot}` }, tally);
      }),
    ),
  );
  const strays = agents.reduce((sum, { edge }) => sum + edge.strays(), 0);
  if (strays > 0) tally.problems.push(`${strays} answers that nobody had asked for`);
  tally.problems.push(...carriedOutTwice(home.said('effects')));
  const starts = home.said('starts').length;
  if (starts !== 1) tally.problems.push(`the server was started ${starts} times`);
  tally.problems.push(...(await home.end()));
  const { said, cancelled, progress, problems } = tally;
  return {
    reached: said + cancelled,
    told: `${said} answered, ${cancelled} cancelled, ${progress} progress messages`,
    problems,
  };
}

export interface Played {
  /** How much of the wanted amount was really done. */
  reached: number;
  /** Whether its times and its memory are within the goal. */
  isMet?: boolean;
  told: string;
  problems: string[];
}

interface Tally {
  said: number;
  cancelled: number;
  progress: number;
  problems: string[];
}

interface Caller {
  random: Random;
  share: number;
  prefix: string;
}

async function callMany(edge: AgentEdge, { random, share, prefix }: Caller, tally: Tally): Promise<void> {
  for (let i = 0; i < share; i++) {
    const nonce = `${prefix}/${i}`;
    const delayMs = random.between(0, MAX_DELAY_MS);
    const steps = random.chance(0.2) ? random.between(1, MAX_STEPS) : 0;
    const heard: string[] = [];
    const outcome = await edge.call({
      name: 'nonce__say',
      args: { nonce, delayMs, steps },
      onProgress: message => heard.push(message),
      ...(random.chance(CANCELLED) && { signal: afterMs(random.between(0, MAX_DELAY_MS)) }),
    });
    if (outcome.kind === 'said') tally.said++;
    if (outcome.kind === 'cancelled') tally.cancelled++;
    tally.progress += heard.length;
    tally.problems.push(...wrongIn(nonce, outcome, heard, steps));
  }
}

function wrongIn(nonce: string, outcome: Outcome, heard: string[], steps: number): string[] {
  const problems = heard
    .filter(message => message !== nonce)
    .map(message => `${nonce} heard progress of ${message}`);
  if (heard.length > steps)
    problems.push(`${nonce} heard ${heard.length} words of progress instead of ${steps}`);
  if (outcome.kind === 'cancelled') return problems;
  if (outcome.kind !== 'said') problems.push(`${nonce} was not answered: ${JSON.stringify(outcome)}`);
  else if (outcome.text !== nonce) problems.push(`${nonce} got the answer of ${outcome.text}`);
  return problems;
}

export function carriedOutTwice(effects: string[]): string[] {
  const seen = new Set<string>();
  return effects
    .filter(nonce => seen.size === seen.add(nonce).size)
    .map(nonce => `${nonce} was carried out twice`);
}

function afterMs(ms: number): AbortSignal {
  const takeBack = new AbortController();
  setTimeout(() => takeBack.abort(), ms);
  return takeBack.signal;
}
