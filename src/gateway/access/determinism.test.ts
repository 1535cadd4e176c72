import { expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from '../../../test/faults/figures.ts';
import { createRandom, newSeed } from '../../../test/faults/random.ts';
import type { RunId } from '../../schema/ids.ts';
import { UpstreamFault } from '../../wire/upstream/link.ts';
import { auditFolder, linesIn, openLog } from '../testing/audit-folder.ts';
import { GatewayFixture, local, plainRequest } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';
import { settled, VirtualTime } from '../testing/virtual-time.ts';

const IDS = ['files', 'db', 'web'];
const ROLES = ['coder', 'tester', 'reviewer'];
const STEPS = 60;

interface Played {
  /** Outcomes of the steps, in order. */
  outcomes: string[];
  /** The lines of the audit log, each with its hash and that of the line before. */
  audit: string[];
}

/** Agents, servers and a person, all drawn from the seed, on simulated time. */
async function play(seed: number): Promise<Played> {
  const random = createRandom(seed);
  const time = new VirtualTime();
  const folder = auditFolder();
  const audit = openLog(folder, { clock: time, timers: time });
  const servers = Object.fromEntries(IDS.map(id => [id, new MemoryServer()]));
  for (const server of Object.values(servers)) {
    server.tools = ['read', 'write', 'drop'].map(name => ({ name, inputSchema: { type: 'object' } }));
    server.prompts = [{ name: 'greet' }];
  }
  const draw = () => ({
    servers: Object.fromEntries(
      IDS.map(id => [
        id,
        local({ tools: random.chance(0.5) ? ['*'] : ['read'], prompts: ['*'], cooldown: 5_000 }),
      ]),
    ),
    shared: IDS.filter(() => random.chance(0.7)),
    toolRestrictions: { [random.pick(ROLES)]: { [random.pick(IDS)]: { exclude: ['drop'] } } },
  });
  await using fixture = new GatewayFixture({
    connect: connectTo(servers),
    config: draw(),
    timers: time,
    audit,
    time,
  });
  const runs = ROLES.map((role, at) => ({ ...fixture.run(role), id: `run_${seed}_${at}` as RunId }));
  const outcomes: string[] = [];
  const during: Promise<void>[] = [];
  const ask = async (step: number) => {
    const [run, id, name] = [
      random.pick(runs),
      random.pick(IDS),
      random.pick(['read', 'write', 'drop', 'none']),
    ];
    const isPrompt = random.chance(0.2);
    const takesMs = random.between(0, 3_000);
    const stop = new AbortController();
    servers[id]!.answer = ({ params }) =>
      new Promise(answer => {
        time.after(takesMs, () => answer({ content: [{ type: 'text', text: JSON.stringify(params) }] }));
      });
    if (random.chance(0.2)) time.after(random.between(1, 2_000), () => stop.abort());
    const request = plainRequest({ signal: stop.signal });
    const view = fixture.gateway.viewOf(run);
    const asked = view?.[isPrompt ? 'getPrompt' : 'call'](
      `${id}__${isPrompt ? 'greet' : name}`,
      { arguments: { step } },
      request,
    );
    const said = await (asked ?? Promise.resolve('no servers')).then(
      result => JSON.stringify(result),
      (error: Error) => `! ${error.message}`,
    );
    outcomes.push(`${step} ${run.id} ${id} ${name} at ${time.now()}: ${said}`);
  };
  for (let step = 0; step < STEPS; step++) {
    during.push(ask(step));
    await settled();
    if (random.chance(0.1)) servers[random.pick(IDS)]!.die();
    if (random.chance(0.1)) {
      const server = servers[random.pick(IDS)]!;
      server.fault = server.fault === null ? new UpstreamFault('start', 'It does not start.') : null;
    }
    if (random.chance(0.1)) fixture.reconfigure(draw());
    await time.pass(random.between(0, 2_000));
  }
  await time.pass(600_000);
  await Promise.all(during);
  await fixture.gateway.close();
  await audit.close();
  return { outcomes, audit: linesIn(folder) };
}

test('the same seed leads to the same decisions, in the same order, and to the same hashes of the audit', {
  tags: ['R34'],
  timeout: figureTimeout(60_000),
}, async () => {
  const seed = Number(process.env.SQUAD_PROPERTY_SEED ?? newSeed());
  const rounds = amountOf(100);
  const first = await play(seed);
  for (let round = 1; round < rounds; round++) expect(await play(seed)).toEqual(first);
  // Otherwise it proves nothing.
  const decisions = new Set(first.audit.map(line => (JSON.parse(line) as { decision: string }).decision));
  expect([first.outcomes.length, decisions.size]).toEqual([STEPS, 2]);
  expect((await play(seed + 1)).audit.at(-1)).not.toBe(first.audit.at(-1));
  figure('R34', {
    reached: rounds,
    of: 100,
    told: `runs of ${STEPS} steps with the same outcomes and ${first.audit.length} audit lines with the same hashes, seed ${seed}`,
  });
});
