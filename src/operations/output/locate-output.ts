import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';
import { findRun } from '../runs/find.ts';

const BUDGET_MS = 1_000;

/** Where a line of a run's output is, or which line a byte is in. */
export const locateOutput = operation({
  name: 'locate_output',
  route: 'GET /runs/{run}/output/place',
  agents: 'spawn',
  tool: null,
  input: z.strictObject({
    run: z.string(),
    /** Its newest unless said otherwise. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    /** One of these two. */
    line: z.number().int().min(1).optional(),
    offset: z.number().int().min(0).optional(),
  }),
  output: z.object({
    runId: z.string(),
    turn: z.number(),
    /** From 1; after the end it is the last. Null: there is no output, or not yet found. */
    line: z.number().nullable(),
    /** The byte it starts at. */
    offset: z.number().nullable(),
    /** How many there are, when all have been counted. */
    lines: z.number().nullable(),
    /** False: it is a long one. Ask again, and it goes on from there. */
    isComplete: z.boolean(),
  }),
  async run({ services }, { run: given, turn: asked, stream, line, offset }) {
    if ((line === undefined) === (offset === undefined))
      throw new SquadError('INVALID_INPUT', 'Give either line or offset', {
        suggestions: ['line finds where a line starts, offset which line a byte is in.'],
      });
    const run = await findRun(services, given);
    const turn = asked ?? run.turn;
    const key = { runId: run.id, number: turn };
    const { files } = services;
    const place =
      line === undefined
        ? await files.lineAt(key, stream, offset!, BUDGET_MS)
        : await files.offsetOf(key, stream, line, BUDGET_MS);
    return { runId: run.id, turn, ...place };
  },
});
