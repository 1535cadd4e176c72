import { z } from 'zod';
import { EventBody } from '../../schema/event.ts';
import { RunId, SquadId } from '../../schema/ids.ts';
import { operation } from '../operation.ts';
import { findRun, findSquad } from './find.ts';

const EventType = z.enum(EventBody.options.map(option => option.shape.type.value));

/** What happened, newest first. */
export const listEvents = operation({
  name: 'list_events',
  route: 'GET /events',
  agents: null,
  tool: null,
  input: z.strictObject({
    run: z.string().optional(),
    /** Also those of its members. */
    squad: z.string().optional(),
    types: z.array(EventType).optional(),
    /** Only older ones: `next` of the page before. */
    before: z.number().int().optional(),
    /** Only newer ones. */
    after: z.number().int().optional(),
    limit: z.number().int().min(1).max(1000).default(200),
  }),
  output: z.object({
    events: z.array(
      z.object({
        seq: z.number(),
        at: z.number(),
        runId: RunId.nullable(),
        squadId: SquadId.nullable(),
        body: EventBody,
      }),
    ),
    /** Null: there is nothing older. */
    next: z.number().nullable(),
  }),
  async run({ services }, { run, squad, limit, ...filter }) {
    const runId = run === undefined ? undefined : (await findRun(services, run)).id;
    const squadId = squad === undefined ? undefined : (await findSquad(services, squad)).squad.id;
    const found = await services.store.events({ ...filter, runId, squadId, limit: limit + 1, reverse: true });
    const events = found.slice(0, limit);
    return { events, next: found.length > limit ? events.at(-1)!.seq : null };
  },
});
