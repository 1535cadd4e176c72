import { z } from 'zod';
import { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { operation, type UserServices } from '../operation.ts';
import { removeWorktree } from '../worktrees/worktrees.ts';

const DAY_MS = 86_400_000;
const BATCH = 200;
const ALL_RUNS = 1_000_000;

/** Removes runs that ended long ago, with all their files. Never removes a run that has not ended. */
export const prune = operation({
  name: 'prune',
  route: 'POST /prune',
  input: z.strictObject({ days: z.number().min(0).optional(), dryRun: z.boolean().default(false) }),
  output: z.object({
    runs: z.number() /** Null in a dry run, which does not measure the size. */,
    bytes: z.number().nullable(),
    /** Number of runs that are kept because their work tree could not be removed. */
    kept: z.number(),
    /** Refs with uncommitted changes of removed work trees. */
    saved: z.array(z.object({ repository: z.string(), ref: z.string() })),
    days: z.number(),
    dryRun: z.boolean(),
  }),
  async run({ services, signal, progress }, { days: given, dryRun }) {
    const { store, files, clock, settings } = services;
    const days = given ?? settings.all()['prune.days'];
    const before = clock.now() - days * DAY_MS;
    if (dryRun) {
      const runs = await store.countEndedBefore(before);
      return { runs, bytes: null, kept: 0, saved: [], days, dryRun };
    }
    let [runs, bytes] = [0, 0];
    const kept = new Set<RunId>();
    const saved: Saved[] = [];
    while (!signal.aborted) {
      const found = (await store.endedBefore(before, BATCH + kept.size)).filter(run => !kept.has(run.id));
      if (found.length === 0) break;
      for (const run of await removeWorktrees(services, found, saved)) kept.add(run.id);
      const old = found.filter(run => !kept.has(run.id));
      // Files are removed first: a row without files can be reported, but files without a row would never be found
      // again.
      for (const run of old) bytes += await files.remove(run.id);
      await store.forget(old.map(run => run.id));
      bytes += await removeChats(services, old);
      runs += old.length;
      await progress(`${runs} runs removed`);
    }
    const longAgo = Math.min(before, clock.now() - DAY_MS);
    bytes += (await removeStrays(services, longAgo)) + (await removeStrayChats(services, longAgo));
    await services.workspaces.keepTeamFilesOf((await store.workspaces()).map(({ path }) => path));
    if (runs > 0)
      await store.commit({
        events: [{ at: clock.now(), runId: null, squadId: null, body: { type: 'runs.pruned', runs, bytes } }],
      });
    return { runs, bytes, kept: kept.size, saved, days, dryRun };
  },
});

interface Saved {
  repository: string;
  ref: string;
}

/**
 * Removes work trees that only these runs use, and adds to `saved` the refs of uncommitted changes. Returns the runs
 * whose work tree had to stay; their rows are kept, because they name the folder.
 */
async function removeWorktrees(services: UserServices, old: Run[], saved: Saved[]): Promise<Run[]> {
  const present = new Set(await services.worktrees.strays([]));
  const going = new Set(old.filter(run => present.has(run.worktree?.path ?? '')).map(run => run.id));
  if (going.size === 0) return [];
  // Other runs may use the same work tree: replies, and runs that an agent in it started.
  const rows = await services.store.runs({ hasWorktree: true, limit: ALL_RUNS });
  const stayed: Run[] = [];
  for (const all of Map.groupBy(rows, run => run.worktree!.path).values()) {
    if (!all.every(run => going.has(run.id))) continue;
    const known = { worktree: all[0]!.worktree!, runs: all.toReversed() };
    const removal = await removeWorktree(services, known);
    if (removal.outcome === 'kept') stayed.push(...all);
    else if (removal.outcome === 'removed' && removal.savedRef !== null)
      saved.push({ repository: known.worktree.repository, ref: removal.savedRef });
  }
  return stayed;
}

/**
 * Removes folders without a row: a hub died between writing a run's files and its rows. After a day these rows will not
 * be written any more. A folder with a record is kept: its rows were lost with a database.
 */
async function removeStrays({ files, store }: UserServices, before: number): Promise<number> {
  let bytes = 0;
  for (const { runId, changedAt } of await files.list())
    if (
      changedAt < before &&
      RunId.safeParse(runId).success &&
      (await store.run(runId)) === null &&
      (await files.record(runId)) === null
    )
      bytes += await files.remove(runId);
  return bytes;
}

/** Removes chat folders that no run refers to any more. A run without a chat has a folder under its own id. */
async function removeChats({ files, store }: UserServices, runs: Run[]): Promise<number> {
  let bytes = 0;
  for (const { id, engine, chatId } of runs) {
    bytes += await files.removeChat(engine, id);
    if (chatId !== null && (await store.chat(chatId)) === null)
      bytes += await files.removeChat(engine, chatId);
  }
  return bytes;
}

/** Removes chat folders that an earlier hub left behind, or whose run was never saved. */
async function removeStrayChats({ files, store }: UserServices, before: number): Promise<number> {
  let bytes = 0;
  for (const { engine, chatId, changedAt } of await files.listChats()) {
    if (changedAt >= before || (await store.chat(chatId)) !== null) continue;
    if (RunId.safeParse(chatId).success && (await store.run(chatId as RunId)) !== null) continue;
    bytes += await files.removeChat(engine, chatId);
  }
  return bytes;
}
