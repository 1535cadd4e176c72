import { z } from 'zod';
import type { Event } from '../../schema/event.ts';
import { RunId, SquadId } from '../../schema/ids.ts';
import { operation, type Services } from '../operation.ts';

/** A reader this far behind is cut off and told so: it asks again from where it was. */
const MOST_AT_ONCE = 1000;

/** Emits every event after `after`, first the stored ones, then each as it happens, until the caller goes away. */
export const followEvents = operation({
  name: 'follow_events',
  // it streams; over HTTP the WebSocket does
  route: null,
  agents: 'spawn',
  tool: null,
  input: z.strictObject({
    after: z.number().int().default(0),
    squadId: SquadId.optional(),
    runId: RunId.optional(),
    /** What runs and squads of it do, and the hub. */
    workspace: z.string().optional(),
    /** False: only what is stored. */
    live: z.boolean().default(true),
  }),
  output: z.object({ last: z.number() }),
  async run({ services, caller, signal, emit }, { after, squadId, runId, workspace, live }) {
    const { store, runner } = services;
    const { parent } = caller;
    const isOfPlace = placeFilter(services, workspace);
    const fresh: Event[] = [];
    let wake = () => {};
    const unsubscribe = store.onEvents(events => {
      for (const event of events) if (matches(event, squadId, runId)) fresh.push(event);
      wake();
    });
    let last = after;
    try {
      for (;;) {
        const stored = await store.events({ after: last, squadId, runId, limit: MOST_AT_ONCE });
        for (const event of stored) {
          if (await isOfPlace(event)) emit(event);
          last = event.seq;
        }
        if (stored.length < MOST_AT_ONCE) break;
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

/** Events do not say where: their runs do, and that never changes. */
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
