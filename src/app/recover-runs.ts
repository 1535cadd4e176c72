import { recover } from '../core/runs/recovery.ts';
import { isSubagentCall } from '../core/subagents/plan-subagent.ts';
import type { HubHome } from './open-home.ts';
import { restoreTokens } from './prepare-run.ts';
import type { RunParts } from './wire-runs.ts';

export type Recovered = Awaited<ReturnType<typeof recoverRuns>>;

/** Phase 3: determines what became of the runs of an earlier hub, and finishes what that hub had begun. */
export async function recoverRuns(parts: HubHome, runs: RunParts) {
  const { clock, store, files, settings, log, warn } = parts;
  const { machines } = runs;
  await machines.load();
  const { runner, clients, servers, executor, engines, inbox, proposals, reviews, integrator } = runs;
  await reviews.finishIntents();
  const counts = await recover(runner, {
    ...{ clock, store, files, executor, engines },
    settings: () => settings.all(),
  });
  machines.runsAreKnown();
  // The callers of these subagent calls got HUB_RESTARTED or are gone, so nobody can receive an answer.
  const lostCalls = runner.liveRuns().filter(isSubagentCall);
  for (const { startedAt } of runner.liveRuns()) if (startedAt !== null) clients.runBegan(startedAt);
  const canceller = { name: 'the next hub', folder: null };
  await Promise.all(lostCalls.map(({ id }) => runner.stop(id, 'cancel', canceller)));
  await restoreTokens(runner.liveRuns(), runs.endpoints);
  await servers.prepare(runner.liveRuns().filter(({ status }) => status !== 'queued'));
  // An error here must not keep the hub, and with it every run, from starting.
  const later = (what: string) => (thrown: unknown) => warn(`${what} could not be recovered`, thrown);
  await inbox.recover().catch(later('Open questions'));
  runs.engineAsks.open();
  await proposals.recover().catch(later('Unfinished pull requests'));
  await reviews.recover().catch(later('Unfinished reviews'));
  const merges = await integrator.recover().catch(later('Unfinished merges'));
  for (const line of merges ?? []) log.write('info', line);
  return { counts, lostCalls };
}
