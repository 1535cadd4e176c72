import { setImmediate as immediate } from 'node:timers/promises';
import { z } from 'zod';
import { Event, EventBody } from '../../schema/event.ts';
import { RunId, SquadId } from '../../schema/ids.ts';
import { operation, type Services } from '../operation.ts';
import { findRun, findSquad } from './find-runs.ts';

const EventType = z.enum(EventBody.options.map(option => option.shape.type.value));

/** Events, newest first. */
export const listEvents = operation({
  name: 'list_events',
  route: 'GET /events',
  input: z.strictObject({
    run: z.string().optional(),
    /** Only events of this squad and its members. */
    squad: z.string().optional(),
    types: z.array(EventType).optional(),
    /** Only events of the runs and squads of this workspace, and of the hub. */
    workspace: z.string().optional(),
    /** Only events that are older than this, for paging: `next` of the previous page. */
    before: z.number().int().optional(),
    after: z.number().int().optional(),
    limit: z.number().int().min(1).max(1000).default(200),
  }),
  output: z.object({
    events: z.array(Event),
    /** Value for `before` to get the next page. Null if there are no older events. */
    next: z.number().nullable(),
  }),
  async run({ services }, { run, squad, limit, ...filter }) {
    const runId = run === undefined ? undefined : (await findRun(services, run, 'any')).id;
    const squadId = squad === undefined ? undefined : (await findSquad(services, squad, 'any')).squad.id;
    const found = await services.store.events({ ...filter, runId, squadId, limit: limit + 1, reverse: true });
    const events = found.slice(0, limit);
    return { events, next: found.length > limit ? events.at(-1)!.seq : null };
  },
});

/** Number of events to read at once, because other requests wait meanwhile. */
const MAX_AT_ONCE = 100;

/** Emits every event after `after`: first the stored ones, then each as it happens, until the caller disconnects. */
export const followEvents = operation({
  name: 'follow_events',
  // no HTTP route: this streams, and over HTTP the WebSocket does that
  route: null,
  agents: 'spawn',
  input: z.strictObject({
    after: z.number().int().default(0),
    squadId: SquadId.optional(),
    runId: RunId.optional(),
    /** Only events of the runs and squads of this workspace, and of the hub. */
    workspace: z.string().optional(),
    /** If false, only stored events are returned, without waiting for new ones. */
    live: z.boolean().default(true),
  }),
  output: z.object({ last: z.number() }),
  async run({ services, caller, signal, emit }, { after, squadId, runId, workspace, live }) {
    const { store, runner } = services;
    const { parent } = caller;
    const isOfPlace = placeFilter(services, workspace);
    const fresh: Event[] = [];
    let wake = () => {};
    const unsubscribe = await store.follow(events => {
      for (const event of events) if (matches(event, squadId, runId)) fresh.push(event);
      wake();
    });
    let last = after;
    try {
      for (;;) {
        const stored = await store.events({ after: last, squadId, runId, limit: MAX_AT_ONCE });
        for (const event of stored) {
          if (await isOfPlace(event)) await emit(event);
          last = event.seq;
        }
        await immediate();
        if (stored.length < MAX_AT_ONCE || signal.aborted) break;
      }
      while (live && !signal.aborted) {
        for (const event of fresh.splice(0)) {
          if (event.seq <= last) continue;
          if (await isOfPlace(event)) emit(event);
          last = event.seq;
        }
        const news = () =>
          new Promise<void>(settle => {
            wake = settle;
            if (fresh.length > 0) settle();
            signal.addEventListener('abort', () => settle(), { once: true });
          });
        await (parent ? runner.whileWaiting(parent.id, news) : news());
      }
    } finally {
      unsubscribe();
    }
    return { last };
  },
});

const matches = (event: Event, squadId?: string, runId?: string) =>
  (squadId === undefined || event.squadId === squadId) && (runId === undefined || event.runId === runId);

/** Events do not name a workspace, but their runs do. The workspace of a run never changes. */
function placeFilter({ store, runner }: Services, workspace: string | undefined) {
  const known = new Map<RunId | SquadId, string | null>();
  const placeOf = async (runId: RunId | null, squadId: SquadId | null): Promise<string | null> => {
    const row = runId
      ? (runner.current(runId) ?? (await store.run(runId)))
      : squadId && (await store.squad(squadId));
    return row ? row.workspace : null;
  };
  return async ({ runId, squadId }: Event): Promise<boolean> => {
    const id = runId ?? squadId;
    if (workspace === undefined || id === null) return true;
    if (!known.has(id)) known.set(id, await placeOf(runId, squadId));
    return known.get(id) === workspace;
  };
}
