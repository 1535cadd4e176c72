import { z } from 'zod';
import type { Event } from '../../schema/event.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type ShownRun, shownRun } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { findRun } from './find-runs.ts';

/** A run that has ended, and its end event if it is still stored. */
export interface EndedRun {
  run: ShownRun;
  event: Event | null;
}

/** Emits each of these runs as it ends: ended ones first, in the order of their ends. With `any` only the first. */
export const waitForRuns = operation({
  name: 'wait_for_runs',
  route: 'POST /wait',
  agents: 'spawn',
  input: z.strictObject({ runs: z.array(RunId).min(1), any: z.boolean().default(false) }),
  output: z.object({ open: z.array(RunId) }),
  async run({ services, signal, waitMs, emit }, { runs: ids, any }) {
    const runs = await Promise.all(ids.map(id => findRun(services, id)));
    const open = new Set(ids);
    const enough = new AbortController();
    const timeUp = waitMs === null ? [] : [AbortSignal.timeout(waitMs)];
    const over = AbortSignal.any([signal, enough.signal, ...timeUp]);

    const tell = async ({ id }: Run) => {
      const [event = null] = await services.store.events({ runId: id, types: ['run.ended'], limit: 1 });
      const run = shownRun(await findRun(services, id));
      if (enough.signal.aborted) return;
      open.delete(id);
      emit({ run, event } satisfies EndedRun);
      if (any) enough.abort();
    };
    const ended = runs.filter(run => isEnd(run.status));
    for (const run of ended.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))) await tell(run);
    await Promise.all(
      runs.map(async run => {
        if (!open.has(run.id) || over.aborted) return;
        await services.runner.untilEnded(run.id, over);
        if (!over.aborted) await tell(run);
      }),
    );
    return { open: [...open] };
  },
});
