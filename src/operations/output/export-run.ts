import { z } from 'zod';
import { EventBody } from '../../schema/event.ts';
import { RunId, SquadId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { type Call, operation } from '../operation.ts';
import { findRun } from '../runs/find.ts';
import { AnsweredQuestion, answersAbout } from './saved-answers.ts';
import { SavedOutput, savedOutputs } from './saved-outputs.ts';

const MOST_EVENTS = 20_000;

/** A run with all that its pages show, bounded, for one file that needs no hub. */
export const exportRun = operation({
  name: 'export_run',
  route: 'GET /runs/{run}/export',
  agents: null,
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run: RunId,
    title: z.string(),
    savedAt: z.number(),
    /** Of Squad. */
    version: z.string(),
    /** What a page would ask, and what it would be told. */
    answers: z.array(AnsweredQuestion),
    /** Newest first. */
    events: z.array(
      z.object({
        seq: z.number(),
        at: z.number(),
        runId: RunId.nullable(),
        squadId: SquadId.nullable(),
        body: EventBody,
      }),
    ),
    outputs: z.array(SavedOutput),
    /** What was too much, each in a sentence. */
    leftOut: z.array(z.string()),
  }),
  async run(call, { run: given }) {
    const { services } = call;
    // As it is now: it may end while it is being saved, and then half of it would be from before.
    const run = { ...(await findRun(services, given)) };
    const [answers, outputs, events] = await Promise.all([
      answersAbout(call, run),
      savedOutputs(services, run),
      newestEvents(call, run),
    ]);
    return {
      run: run.id,
      title: run.title ?? run.task,
      savedAt: services.clock.now(),
      version: services.hub.status().version,
      answers: answers.answers,
      events: events.slice(0, MOST_EVENTS),
      outputs: outputs.outputs,
      leftOut: [
        ...(events.length > MOST_EVENTS
          ? [`events before the last ${MOST_EVENTS.toLocaleString('en')}`]
          : []),
        ...outputs.leftOut,
        ...answers.leftOut,
      ],
    };
  },
});

const newestEvents = ({ services }: Call, { id }: Run) =>
  services.store.events({ runId: id, limit: MOST_EVENTS + 1, reverse: true });
