import type { Event, EventBody } from '../../../../src/schema/event.ts';

/** All event types; the type checker requires new ones to be added here. */
const TYPES: Record<EventBody['type'], true> = {
  'run.queued': true,
  'run.started': true,
  'run.activity': true,
  'run.quiet': true,
  'run.budget': true,
  'run.stopping': true,
  'run.told': true,
  'run.sent': true,
  'run.receipt': true,
  'run.woken': true,
  'run.limited': true,
  'run.turn_ended': true,
  'run.ended': true,
  'squad.created': true,
  'inbox.asked': true,
  'inbox.settled': true,
  'review.requested': true,
  'review.closed': true,
  'review.limit_changed': true,
  'worktree.made': true,
  'worktree.removed': true,
  'worktree.kept': true,
  'pull_request.opened': true,
  'issues.created': true,
  'branch.integrated': true,
  'tool.called': true,
  'setting.changed': true,
  'runs.pruned': true,
  'hub.started': true,
  'hub.stopped': true,
  'hub.recovered': true,
  'database.restored': true,
};
export const EVENT_TYPES = Object.keys(TYPES);

/** Filter of the event list, as in the address. */
export interface EventFilter {
  types: string[];
  run: string | null;
  squad: string | null;
}

export function filterOf(query: Record<string, string | undefined>): EventFilter {
  return {
    types: (query.type ?? '').split(',').filter(isKnown),
    run: query.run || null,
    squad: query.squad || null,
  };
}

/** Event types are checked, because the query of a URL can contain any text. */
const isKnown = (type: string) => EVENT_TYPES.includes(type);

export const matches = ({ body, runId, squadId }: Event, { types, run, squad }: EventFilter): boolean =>
  (types.length === 0 || types.includes(body.type)) &&
  (run === null || runId === run) &&
  (squad === null || squadId === squad);

/** New and known events together: newest first, each once, at most `most`. */
export function together(fresh: readonly Event[], known: readonly Event[], most: number): Event[] {
  const all = new Map([...known, ...fresh].map(event => [event.seq, event]));
  return [...all.values()].sort((one, other) => other.seq - one.seq).slice(0, most);
}
