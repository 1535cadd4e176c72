import { setTimeout as delay } from 'node:timers/promises';
import type { SquadResult } from '../../src/operations/member-result.ts';
import type { Event } from '../../src/schema/event.ts';
import { isEnd, type Run } from '../../src/schema/run.ts';
import { checkRound } from './check-round.ts';
import type { FaultHome, Killed } from './fault-home.ts';
import { gather } from './gather.ts';
import type { HubLink } from './hub-link.ts';
import type { McpLine } from './mcp-line.ts';
import { until } from './patience.ts';
import type { RoundPlan } from './round-plan.ts';

export const CONCURRENCY = 12;
const PATIENCE_MS = 60_000;

export interface RoundReport {
  plan: RoundPlan;
  problems: string[];
  /** How many runs of each kind ended how. */
  ends: Map<string, number>;
  kills: number;
  /** What the killed hub knew: runs it had written down, started and ended. */
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
export async function playRound(home: FaultHome, plan: RoundPlan): Promise<RoundReport> {
  const startedAt = Date.now();
  const before = await openRound(home, plan);
  const asked = submit(before, plan);
  await delay(Math.max(0, plan.killAfterMs - plan.cancelBeforeMs));
  const cancelled = new Map<string, string>();
  const cancelling = cancel(before.link, plan, cancelled);
  await delay(Math.min(plan.killAfterMs, plan.cancelBeforeMs));
  const kills = [await home.killHub()];
  const seenBefore = [...before.seen];
  for (const ms of plan.killAgainAfterMs) kills.push(await killNext(home, plan, ms));

  const link = await home.hub(false, ...plan.starter);
  const answers = await Promise.all(asked);
  await cancelling;
  if (plan.cancelsAgain) await cancel(link, plan, cancelled);
  await allEnded(link, plan);
  const killedAt = kills.map(({ at }) => at);
  const seen = { seenBefore, after: before.after };
  const facts = await gather({ home, plan, link, answers, cancelled, killedAt, ...seen });
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

interface Opened {
  link: HubLink;
  stateful: HubLink;
  mcp: McpLine | null;
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
  return { link, stateful, mcp, seen, after };
}

/** What came of asking for a squad: the ids, or none; and what is wrong with the answer itself. */
export interface Answer {
  promised: string[] | null;
  problem?: string;
}

function submit({ link, stateful, mcp }: Opened, plan: RoundPlan): Promise<Answer>[] {
  const [plain, chats] = plan.squads.map(({ name, members }) => ({
    members: members.map(({ roleId, task }) => ({ roleId, task })),
    metadata: { name },
  }));
  const onSocket = (to: HubLink, input: object): Promise<Answer> =>
    to.call<SquadResult>('start_squad_members', input, { waitMs: 0 }).then(
      result => ({ promised: result.members.map(({ memberId }) => memberId) }),
      error => ({ promised: null, problem: error.code && `the hub refused a squad: ${error.message}` }),
    );
  return [
    mcp ? overMcp(mcp, plain!) : onSocket(link, plain!),
    delay(plan.secondSquadAfterMs).then(() => onSocket(stateful, chats!)),
  ];
}

/** A client that waits is told that the hub restarted, unless everything was over before. */
async function overMcp(mcp: McpLine, input: object): Promise<Answer> {
  const { result, error } = await mcp.tool('start_squad_members', input);
  if (error?.data?.code === 'HUB_RESTARTED') return { promised: null };
  if (error || result?.isError)
    return {
      promised: null,
      problem: `the MCP client was told: ${error?.message ?? JSON.stringify(result)}`,
    };
  const { members } = result!.structuredContent as unknown as SquadResult;
  return { promised: members.map(({ memberId }) => memberId) };
}

/** Asks for every cancel of the plan whose run is known by now. What the answers say is put into `told`. */
async function cancel(link: HubLink, plan: RoundPlan, told: Map<string, string>): Promise<void> {
  const wanted = plan.squads.flatMap(({ members }) => members.filter(member => member.isCancelled));
  try {
    const runs = await runsOf(link, plan);
    await Promise.all(
      wanted.map(async ({ tag }) => {
        const run = runs.find(({ task }) => tagOf(task) === tag);
        if (!run || isEnd(run.status)) return;
        const { runs: answer } = await link.call<{ runs: { status: string }[] }>('cancel_run', {
          spawn_id: run.id,
        });
        told.set(tag, answer[0]!.status);
      }),
    );
  } catch {} // the hub died over it, which is what it is there for
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

export const tagOf = (task: string): string => task.split(/\s/, 1)[0]!;

/** The runs of this round, as the hub lists them. */
export async function runsOf(link: HubLink, plan: RoundPlan): Promise<Run[]> {
  const { runs } = await link.call<{ runs: Run[] }>('list_runs', { limit: 1000 });
  return runs.filter(({ task }) => tagOf(task).startsWith(`r${plan.round}m`));
}

async function allEnded(link: HubLink, plan: RoundPlan): Promise<void> {
  let open: Run[] = [];
  const look = async () => {
    open = (await runsOf(link, plan)).filter(({ status }) => !isEnd(status));
    await delay(40);
    return open.length === 0;
  };
  await until('every run to end', look, PATIENCE_MS).catch(error => {
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
