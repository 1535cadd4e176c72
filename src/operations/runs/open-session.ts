import { z } from 'zod';
import { isEnd, RunStatus } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { findRun } from './find.ts';
import { canBeTakenOver } from './take-over.ts';

/** A window on a run that has not ended, for somebody who wants to look through it. */
export const openSession = operation({
  name: 'open_session',
  route: 'POST /runs/{run}/session',
  agents: null,
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run_id: z.string(),
    status: RunStatus,
    is_over: z.boolean(),
    /** Null: there is no tmux, it is switched off, or the run is over. */
    session_name: z.string().nullable(),
    /** What can be done with one that is over; null: it is not. */
    goes_on_by: z.object({ reply: z.boolean(), take_over: z.boolean() }).nullable(),
  }),
  async run(call, { run: given }) {
    const { services } = call;
    const run = await findRun(services, given);
    const isOver = isEnd(run.status);
    const about = { run_id: run.id, status: run.status, is_over: isOver };
    if (!isOver) return { ...about, session_name: await services.sessions.open(run, true), goes_on_by: null };
    const hasChat = run.chatId !== null && run.startedAt !== null;
    const goes_on_by = { reply: hasChat, take_over: hasChat && (await canBeTakenOver(call, run)) };
    return { ...about, session_name: null, goes_on_by };
  },
});
