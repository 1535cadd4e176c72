import type { Canceller } from '../../core/runs/canceller.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import type { Run } from '../../schema/run.ts';
import type { Call, Services } from '../operation.ts';

export interface Stopped {
  run: Run;
  /** False: there was nothing left to stop. */
  wasRunning: boolean;
}

export async function cancellerOf({
  services,
  caller,
}: Pick<Call, 'services' | 'caller'>): Promise<Canceller | null> {
  const { parent, client } = caller;
  if (parent) return { name: parent.id, folder: null };
  if (client === null) return null;
  // The web UI belongs to no folder.
  return { name: client, folder: await services.workspaces.root(caller).catch(() => null) };
}

/** Cancels runs, and with them what they started: work that was handed out has no meaning without who handed it out. `by`: who wants it. */
export async function stopRuns(
  services: Services,
  runs: Run[],
  by: Canceller | null = null,
): Promise<{ asked: Stopped[]; below: Stopped[] }> {
  // They first: who is being stopped soon starts nothing more.
  const asked = await Promise.all(
    runs.map(async run => ({ run, wasRunning: await services.runner.stop(run.id, 'cancel', by) })),
  );
  return { asked, below: await stopBelow(services, runs, by) };
}

/** Only what they started and what came of it, as far as it had not ended. */
export async function stopBelow(
  { runner, store }: Services,
  runs: Run[],
  by: Canceller | null = null,
): Promise<Stopped[]> {
  const families = await Promise.all(runs.map(run => descendantsOf(store, run.id)));
  const ids = new Set(families.flat().map(({ id }) => id));
  for (const { id } of runs) ids.delete(id);
  const live = [...ids].flatMap(id => runner.current(id) ?? []);
  const stopped = await Promise.all(
    live.map(async run => ({ run, wasRunning: await runner.stop(run.id, 'cancel', by) })),
  );
  return stopped.filter(({ wasRunning }) => wasRunning);
}
