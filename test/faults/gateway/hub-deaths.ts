import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../patience.ts';
import { createRandom, roundSeed } from '../random.ts';
import type { Outcome } from './agent-edge.ts';
import { carriedOutTwice, type Played } from './crossed-calls.ts';
import { GatewayHome, type RunningAgent } from './gateway-home.ts';

const AGENTS = 8;
const SERVERS = ['one', 'two', 'stays'];
const MAX_LIFE_MS = 400;

/** `kill -9` of the hub while agents call: every run goes on, the log holds, and no server outlives its hub or is there twice. */
export async function hubDeaths(program: string, seed: number, deaths: number): Promise<Played> {
  await using home = await GatewayHome.create(program);
  const random = createRandom(roundSeed(seed, 0));
  const servers = Object.fromEntries(
    SERVERS.map(id => [id, home.nonceServer(id, {}, ...(id === 'stays' ? ['stays'] : []))]),
  );
  await home.configure({ servers, shared: SERVERS });
  const agents = await home.agents(AGENTS);
  const problems: string[] = [];
  let calls = 0;
  let broken = 0;
  for (let death = 0; death < deaths; death++) {
    let isOver = false;
    const nonces = (agent: RunningAgent) => `${agent.runId}/${++calls}`;
    const work = agents.map(async agent => {
      for (; !isOver; await delay(1)) {
        const nonce = nonces(agent);
        const outcome = await agent.edge.call({
          name: `${SERVERS[calls % SERVERS.length]}__say`,
          args: { nonce, delayMs: calls % 7 },
        });
        if (outcome.kind !== 'said') broken++;
        problems.push(...wrongIn(nonce, outcome));
      }
    });
    await delay(random.between(0, MAX_LIFE_MS));
    const { hubs } = await home.killHub();
    if (hubs !== 1) problems.push(`${hubs} hubs were there to be killed`);
    (await home.hub()).close();
    await allAnswered(agents, death, problems);
    isOver = true;
    await Promise.all(work);
    // Every server has answered under the new hub, so servers of one hub are those of the new one.
    await until(
      'the end of the servers that the killed hub had started',
      () => hubsOfServers(home) === 1,
    ).catch((error: Error) => problems.push(error.message));
    problems.push(...serversTwice(home));
  }
  problems.push(...(await lostRuns(home, agents)), ...carriedOutTwice(home.said('effects')));
  const { code, stdout, stderr } = await home.squad('audit', 'verify');
  if (code !== 0) problems.push(`squad audit verify: ${stdout}${stderr}`);
  problems.push(...(await home.end()));
  return {
    reached: deaths,
    told: `${deaths} hubs killed, ${calls} calls, ${broken} of them cut off`,
    problems,
  };
}

/** A call that went down with its hub says so in any way; one that is answered has its own answer. */
function wrongIn(nonce: string, outcome: Outcome): string[] {
  if (outcome.kind === 'hung') return [`${nonce} was never answered`];
  if (outcome.kind === 'said' && outcome.text !== nonce)
    return [`${nonce} got the answer of ${outcome.text}`];
  return [];
}

async function allAnswered(agents: RunningAgent[], death: number, problems: string[]): Promise<void> {
  await Promise.all(
    agents.flatMap(({ runId, edge }) =>
      SERVERS.map(async id => {
        let tries = 0;
        const ask = async () => {
          const nonce = `${runId}/after ${death}/${id}/${++tries}`;
          const outcome = await edge.call({ name: `${id}__say`, args: { nonce } });
          return outcome.kind === 'said' && outcome.text === nonce;
        };
        await until(`${runId} has ${id} back`, ask).catch((error: Error) => problems.push(error.message));
      }),
    ),
  );
}

/** Number of hubs that started the servers of this moment. The mark of a server is `<home>.<hub>.<n>`. */
function hubsOfServers(home: GatewayHome): number {
  const marks = home.upstreams().map(({ mark }) => mark);
  return new Set(marks.map(mark => mark.slice(0, mark.lastIndexOf('.')))).size;
}

function serversTwice(home: GatewayHome): string[] {
  const living = home.upstreams();
  return SERVERS.flatMap(id => {
    const found = living.filter(({ command }) => command.includes(` ${id} `));
    const marks = found.map(({ mark, pid }) => `${mark} (pid ${pid})`).join(', ');
    return found.length === 1 ? [] : [`${id} is there ${found.length} times: ${marks}`];
  });
}

async function lostRuns(home: GatewayHome, agents: RunningAgent[]): Promise<string[]> {
  const link = await home.hub();
  const { runs } = await link.call<{ runs: { id: string; status: string }[] }>('list_runs', { limit: 1000 });
  link.close();
  const statusOf = new Map(runs.map(({ id, status }) => [id, status]));
  return agents.flatMap(({ runId }) => {
    const status = statusOf.get(runId);
    return status === 'running' ? [] : [`${runId} is ${status ?? 'not known any more'}`];
  });
}
