import { startOfDay } from '../../core/cost/budget.ts';
import { figuresOf, type RunFigures } from '../../core/cost/figures.ts';
import type { Caller } from '../../core/ports/workspace.ts';
import { isEnd } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { asItIsNow, findRun } from '../runs/find.ts';

/** The newest are what anybody wants to know about. */
const MOST = 50_000;
const MOST_OF_SQUAD = 1_000;

/** What runs have taken: of today and of this workspace; for an agent of its own run and its squad. */
export async function teamMetrics(services: Services, caller: Caller, workspace: string) {
  const { store, clock, runner } = services;
  const now = clock.now();
  const at = new Date(now).toISOString();
  /** What a run at work has used is in the database only when it has ended. */
  const asOfNow = <R extends Pick<RunFigures, 'id' | 'status' | 'usage' | 'startedAt' | 'endedAt'>>(
    run: R,
  ): R =>
    isEnd(run.status)
      ? run
      : { ...run, ...runner.current(run.id), usage: runner.usageOf(run.id) ?? run.usage };
  if (caller.parent) {
    const { id, squadId } = caller.parent;
    const own = await findRun(services, id);
    const rows = await store.runs({ squadId, limit: MOST_OF_SQUAD });
    const squad = await Promise.all(rows.map(row => asItIsNow(services, row)));
    return { at, run: figuresOf([asOfNow(own)], now), squad: figuresOf(squad.map(asOfNow), now) };
  }
  const [today, here] = await Promise.all([
    store.figures({ since: startOfDay(now), limit: MOST }),
    store.figures({ workspace, limit: MOST }),
  ]);
  return { at, today: figuresOf(today.map(asOfNow), now), workspace: figuresOf(here.map(asOfNow), now) };
}
