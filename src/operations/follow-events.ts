import { z } from 'zod';
import type { Event } from '../schema/event.ts';
import { RunId, SquadId } from '../schema/ids.ts';
import { operation } from './operation.ts';

/** A reader this far behind is cut off and told so: it asks again from where it was. */
const MOST_AT_ONCE = 1000;

/** Emits every event after `after`, first the stored ones, then each as it happens, until the caller goes away. */
export const followEvents = operation({
  name: 'follow_events',
  tool: null,
  input: z.strictObject({
    after: z.number().int().default(0),
    squadId: SquadId.optional(),
    runId: RunId.optional(),
    /** False: only what is stored. */
    live: z.boolean().default(true),
  }),
  output: z.object({ last: z.number() }),
  async run({ services, caller, signal, emit }, { after, squadId, runId, live }) {
    const { store, runner } = services;
    const { parent } = caller;
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
          emit(event);
          last = event.seq;
        }
        if (stored.length < MOST_AT_ONCE) break;
      }
      while (live && !signal.aborted) {
        for (const event of fresh.splice(0)) {
          if (event.seq <= last) continue;
          emit(event);
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
