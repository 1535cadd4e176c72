import { isDeepStrictEqual } from 'node:util';
import type { Event } from '../../src/schema/event.ts';
import { checkRun } from './check-run.ts';
import type { RoundFacts, RunFacts, SquadFacts } from './facts.ts';

/** Everything that does not hold after a round, in words. Looks at facts only, so it can be shown wrong ones. */
export function checkRound(facts: RoundFacts): string[] {
  const runs = facts.squads.flatMap(squad => squad.runs);
  return [
    ...runs.flatMap(run => checkRun(run).map(problem => `${nameOf(run)}: ${problem}`)),
    ...facts.squads.flatMap(squad => checkSquad(squad, facts.events)),
    ...checkLog(facts),
    ...checkLimit(runs, facts.concurrency),
    ...facts.strangers.map(tag => `${tag} ran, but no run is known for it`),
    ...facts.processes.map(process => `a process was left: ${process}`),
    ...(facts.hubs === 1 ? [] : [`${facts.hubs} hubs are running`]),
  ];
}

const nameOf = ({ member, run }: RunFacts): string =>
  `${member.tag} (${member.kind}, ${member.engine}, ${run.id})`;

function checkSquad({ plan, promised, isCut, runs }: SquadFacts, events: Event[]): string[] {
  const problems: string[] = [];
  const tags = runs.map(({ member }) => member.tag).join();
  const all = runs.map(({ run }) => run.id);
  const ids = isCut ? all.slice(0, promised?.length) : all;
  const isWhole = tags === plan.members.map(({ tag }) => tag).join();
  if (runs.length > 0 && !isWhole) problems.push(`only these members are known, in this order: ${tags}`);
  if (promised && promised.join() !== ids.join()) problems.push(`promised ${promised}, known ${ids}`);
  if (new Set(runs.map(({ run }) => run.squadId)).size > 1)
    problems.push('its members are in several squads');
  if (runs.some(({ run }, i) => run.position !== i)) problems.push('its members are out of place');
  if (runs.some(({ squad }) => squad?.metadata?.name !== plan.name)) problems.push('its metadata is lost');
  const created = events.filter(
    ({ body, squadId }) => body.type === 'squad.created' && squadId === runs[0]?.run.squadId,
  );
  if (runs.length > 0 && created.length !== 1) problems.push(`${created.length} squad.created events`);
  return problems.map(problem => `squad ${plan.name}: ${problem}`);
}

function checkLog({ events, seenBefore }: RoundFacts): string[] {
  const problems: string[] = [];
  events.forEach(({ seq }, i) => {
    const before = events[i - 1]?.seq ?? 0;
    if (seq <= before) problems.push(`event ${seq} comes after ${before}`);
  });
  const bySeq = new Map(events.map(event => [event.seq, event]));
  for (const event of seenBefore)
    if (!isDeepStrictEqual(bySeq.get(event.seq), event))
      problems.push(`event ${event.seq} (${event.body.type}) was shown, and is not in the log as it was`);
  return problems;
}

/** A run counts from its start until its end is written down, and the limit holds across a restart. */
function checkLimit(runs: RunFacts[], limit: number): string[] {
  const changes = runs.flatMap(({ turns, events }) => {
    const [from, to] = [turns[0]?.startedAt, events.find(({ body }) => body.type === 'run.ended')?.at];
    return from && to
      ? [
          { at: from, by: 1 },
          { at: to, by: -1 },
        ]
      : [];
  });
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most > limit ? [`${most} agents ran at once; the limit is ${limit}`] : [];
}
