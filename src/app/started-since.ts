import type { Caller } from '../core/ports/workspace.ts';
import type { Services } from '../operations/operation.ts';
import { listRunning } from '../operations/runs/list-running.ts';
import { subjectOf, within } from '../operations/scope.ts';
import { runName } from '../schema/run-name.ts';

const MAX_NAMED = 5;

/** Runs of the caller's workspace that were asked for since then, for a client whose call was lost with the hub. */
export async function startedSince(at: number, caller: Caller, services: Services): Promise<string[]> {
  const workspace = await services.workspaces.root(caller).catch(() => null);
  if (workspace === null) return [];
  const subject = subjectOf({ services, caller });
  const { store } = subject.kind === 'user' ? services : await within(services, subject, listRunning);
  const runs = await store.runs({ workspace, limit: MAX_NAMED });
  return runs
    .filter(({ createdAt }) => createdAt >= at)
    .map(run => `${run.id} (${runName(run)}, ${run.status})`);
}
