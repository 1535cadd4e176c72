import type { Event } from '../../../../src/schema/event.ts';
import { EVENT_TYPES } from './event-types.ts';

/** What of all events is shown; as in the address. */
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

/** An address may say anything. */
const isKnown = (type: string) => EVENT_TYPES.includes(type);

export const matches = ({ body, runId, squadId }: Event, { types, run, squad }: EventFilter): boolean =>
  (types.length === 0 || types.includes(body.type)) &&
  (run === null || runId === run) &&
  (squad === null || squadId === squad);

/** What is new first, each once. */
export function together(fresh: readonly Event[], known: readonly Event[], most: number): Event[] {
  const all = new Map([...known, ...fresh].map(event => [event.seq, event]));
  return [...all.values()].sort((one, other) => other.seq - one.seq).slice(0, most);
}
