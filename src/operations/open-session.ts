import { z } from 'zod';
import { isEnd, RunStatus } from '../schema/run.ts';
import { findRun } from './find.ts';
import { operation } from './operation.ts';

/** A window on a run that has not ended, for somebody who wants to look through it. */
export const openSession = operation({
  name: 'open_session',
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run_id: z.string(),
    status: RunStatus,
    is_over: z.boolean(),
    /** Null: there is no tmux, it is switched off, or the run is over. */
    session_name: z.string().nullable(),
  }),
  async run({ services }, { run: given }) {
    const run = await findRun(services, given);
    const isOver = isEnd(run.status);
    const name = isOver ? null : await services.sessions.open(run, true);
    return { run_id: run.id, status: run.status, is_over: isOver, session_name: name };
  },
});
