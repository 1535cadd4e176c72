import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '../../src/schema/event.ts';
import { isEnd, type Run } from '../../src/schema/run.ts';
import { type BoxHome, playBoxFaults } from './box-home.ts';
import { checkRound } from './check-round.ts';
import type { FaultHome, Killed } from './fault-home.ts';
import { gather, type Span } from './gather.ts';
import type { HubLink } from './hub-link.ts';
import { until } from './patience.ts';
import { type Clients, cancel, runsOf, submit, tagOf } from './requests.ts';
import type { RoundPlan } from './round-plan.ts';

export const CONCURRENCY = 12;
const ROUND_TIMEOUT_MS = 60_000;
/** After a longer cut the hub waits for up to half a minute before it connects again. */
const BOX_ROUND_TIMEOUT_MS = 120_000;

export interface RoundReport {
  plan: RoundPlan;
  problems: string[];
  /** How many runs of each kind ended how. */
  ends: Map<string, number>;
  kills: number;
  /** State that the killed hub had stored: numbers of recorded, started and ended runs. */
  moment: string;
  ms: number;
}

/** Settings for agents in such numbers; a home keeps them. */
export async function prepareHome(home: FaultHome): Promise<void> {
  await home.set('limits.concurrency', CONCURRENCY);
  await home.set('limits.spawns_per_minute', 100_000);
  await home.set('stop.grace_ms', 300);
}

/** Twenty agents, `kill -9` of the hub at the planned moment, a new hub, and a look at what came of it. */
export async function playRound(
  home: FaultHome,
  plan: RoundPlan,
  box: BoxHome | null = null,
): Promise<RoundReport> {
  const startedAt = Date.now();
  const before = await openRound(home, plan);
  const asked = submit(before, plan);
  const faults = box && playBoxFaults(box, plan.boxFaults);
  faults?.catch(() => {}); // it is awaited below
  await delay(Math.max(0, plan.killAfterMs - plan.cancelBeforeMs));
  const cancelled = new Map<string, string>();
  const cancelling = cancel(before.link, plan, cancelled);
  await delay(Math.min(plan.killAfterMs, plan.cancelBeforeMs));
  const kills = plan.killsHub ? [await home.killHub()] : [];
  const seenBefore = [...before.seen];
  if (plan.killsHub) for (const ms of plan.killAgainAfterMs) kills.push(await killNext(home, plan, ms));
  const spans: Span[] = (await faults) ?? [];

  const link = await home.hub(false, ...plan.starter);
  const answers = await Promise.all(asked);
  await cancelling;
  if (plan.cancelsAgain) await cancel(link, plan, cancelled);
  await allEnded(link, plan);
  const disturbed = [...spans, ...kills.map(({ at }) => ({ from: at, to: at }))];
  const seen = { seenBefore, after: before.after };
  const facts = await gather({ home, plan, link, answers, cancelled, disturbed, ...seen });
  const problems = [...answers.flatMap(answer => answer.problem ?? []), ...checkRound(facts)];
  if (kills.some(({ hubs }) => hubs === 0)) problems.push('no hub was there to be killed');
  await before.mcp?.close();
  link.close();
  return {
    plan,
    problems,
    ends: countEnds(facts.squads.flatMap(({ runs }) => runs)),
    kills: kills.reduce((sum, { hubs }) => sum + hubs, 0),
    moment: momentOf(seenBefore),
    ms: Date.now() - startedAt,
  };
}

interface Opened extends Clients {
  /** Every event so far, as they come. */
  seen: Event[];
  after: number;
}

async function openRound(home: FaultHome, plan: RoundPlan): Promise<Opened> {
  const link = await home.hub();
  const stateful = await home.hub(true);
  const mcp = plan.face === 'mcp' ? home.mcp() : null;
  await mcp?.initialize();
  const { last: after } = await link.call<{ last: number }>(
    'follow_events',
    { live: false },
    { onItem() {} },
  );
  const seen: Event[] = [];
  link.call('follow_events', { after }, { onItem: event => void seen.push(event as Event) }).catch(() => {}); // it ends with the hub
  return { link, stateful, mcp, seen, after, workspace: home.workspace };
}

/** Lets something start the next hub and kills that one too. */
async function killNext(home: FaultHome, plan: RoundPlan, afterMs: number): Promise<Killed> {
  const starting = home.squad(...plan.starter).catch(() => null);
  await until('the next hub', () => home.hubPids().length > 0);
  await delay(afterMs);
  const killed = await home.killHub();
  await starting;
  return killed;
}

async function allEnded(link: HubLink, plan: RoundPlan): Promise<void> {
  let open: Run[] = [];
  const look = async () => {
    open = (await runsOf(link, plan)).filter(({ status }) => !isEnd(status));
    await delay(40);
    return open.length === 0;
  };
  const limitMs = plan.boxFaults.length > 0 ? BOX_ROUND_TIMEOUT_MS : ROUND_TIMEOUT_MS;
  await until('every run to end', look, limitMs).catch(error => {
    const which = open.map(({ id, task, status }) => `${tagOf(task)} ${id} ${status}`);
    throw new Error(`${error.message}; still open: ${which.join(', ')}`);
  });
}

function momentOf(seen: Event[]): string {
  const count = (type: string) => seen.filter(({ body }) => body.type === type).length;
  return `${count('run.queued')} known, ${count('run.started')} started, ${count('run.ended')} ended`;
}

function countEnds(runs: { member: { kind: string }; run: Run }[]): Map<string, number> {
  const ends = new Map<string, number>();
  for (const { member, run } of runs) {
    const end = `${member.kind}: ${run.status}`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  return ends;
}
