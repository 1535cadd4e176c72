import { z } from 'zod';
import { RunStatus, ShownRun, shownRun } from '../../schema/run.ts';
import { Quiet } from '../../schema/run-card.ts';
import { operation } from '../operation.ts';
import { asItIsNow } from './find.ts';
import { quietOf } from './quiet.ts';
import { undecidedAmong } from './undecided.ts';

/** Runs, newest first: what `squad ls` and the page show. */
export const listRuns = operation({
  name: 'list_runs',
  route: 'GET /runs',
  agents: 'spawn',
  tool: null,
  input: z.strictObject({
    workspace: z.string().optional(),
    status: z.array(RunStatus).optional(),
    before: z.number().optional(),
    limit: z.number().int().min(1).max(1000).default(20),
  }),
  output: z.object({ runs: z.array(ShownRun.extend({ quiet: Quiet.nullable(), needsYou: z.boolean() })) }),
  async run({ services }, filter) {
    const runs = await services.store.runs(filter);
    const undecided = await undecidedAmong(services, runs);
    return {
      runs: await Promise.all(
        runs.map(async row => {
          const run = await asItIsNow(services, row);
          return { ...shownRun(run), quiet: quietOf(services, run), needsYou: undecided.has(run.id) };
        }),
      ),
    };
  },
});
