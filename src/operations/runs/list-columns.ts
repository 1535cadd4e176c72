import { z } from 'zod';
import { RunId, SquadId } from '../../schema/ids.ts';
import type { Run, Squad } from '../../schema/run.ts';
import { RunCard } from '../../schema/run-card.ts';
import { squadName } from '../../schema/run-text.ts';
import { operation, type UserServices } from '../operation.ts';
import { currentRun } from './find-runs.ts';
import { liveRuns } from './list-board.ts';
import { cardsOf } from './run-card.ts';
import { undecidedRuns } from './run-notes.ts';

/** Maximum numbers of live runs and of branches on the board. Nobody can survey more. */
const MAX_LIVE = 500;
const MAX_BRANCHES = 500;
const MAX_MEMBERS = 1_000;

/**
 * Lists the runs on the board of the web UI: all runs that need attention, are running or can be merged, and the newest
 * of the other runs.
 */
export const listColumns = operation({
  name: 'list_columns',
  route: 'GET /board/columns',
  input: z.strictObject({
    workspace: z.string().optional(),
    /** Words that must all occur in the task, title, role, engine, model or id. */
    q: z.string().max(400).optional(),
    /** Maximum number of merged runs, and of done runs. */
    limit: z.number().int().min(1).max(200).default(50),
  }),
  output: z.object({
    runs: z.array(RunCard),
    /** Squads with several members, in the order of their members. `runs` contains all members. */
    squads: z.array(z.object({ id: SquadId, name: z.string().nullable(), members: z.array(RunId) })),
    /** True for each kind of which older runs were left out. */
    more: z.object({ merged: z.boolean(), done: z.boolean() }),
    /** Number of the last event that the reply includes. */
    last: z.number(),
  }),
  async run({ services }, { workspace, q, limit }) {
    const { store, clock, branchStates } = services;
    const last = await store.lastEvent();
    const filter = { workspace, q };
    const at = clock.now();
    const { needs_you, running, queued } = await liveRuns(services, filter);
    const undecided = await undecidedRuns(services, filter);
    const [failed, done, withBranch] = await Promise.all([
      store.endedRuns({ ...filter, part: 'failed', at, limit: MAX_LIVE }),
      store.endedRuns({ ...filter, part: 'done', at, limit: limit + 1 }),
      store.endedRuns({ ...filter, part: 'done', at, hasWorktree: true, limit: MAX_BRANCHES }),
    ]);
    const states = await branchStates.of(withBranch);
    const inState = (state: string) => withBranch.filter(({ id }) => states.get(id) === state);
    const merged = inState('merged');
    const shown = [
      ...[...needs_you, ...undecided, ...running, ...queued].slice(0, MAX_LIVE),
      ...[...failed, ...inState('ready'), ...merged.slice(0, limit), ...done.slice(0, limit)],
    ];
    const { runs, squads, members } = await withMembers(services, shown);
    return {
      runs: await cardsOf(services, runs),
      squads: squads.map(({ id, metadata }, at) => ({
        id,
        name: squadName(metadata),
        members: members[at]!.map(run => run.id),
      })),
      more: { merged: merged.length > limit, done: done.length > limit },
      last,
    };
  },
});

/** Adds the other members of each run's squad. Returns each run once. */
async function withMembers(
  services: UserServices,
  shown: readonly Run[],
): Promise<{ runs: Run[]; squads: Squad[]; members: Run[][] }> {
  const { store } = services;
  const squads = await store.squadsOfSeveral([...new Set(shown.map(({ squadId }) => squadId))]);
  const members = await Promise.all(squads.map(({ id }) => store.runs({ squadId: id, limit: MAX_MEMBERS })));
  const runs = new Map(shown.map(run => [run.id, run]));
  for (const row of members.flat()) if (!runs.has(row.id)) runs.set(row.id, await currentRun(services, row));
  return { runs: [...runs.values()], squads, members };
}
