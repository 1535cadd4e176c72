import type { EventBody } from '../../schema/event.ts';
import type { Run } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Change } from '../ports/store.ts';
import { keepPlan } from './kept-plan.ts';
import { LiveRun } from './live-run.ts';
import type { PlannedRun, PlannedSquad } from './plan.ts';
import type { LedgerPorts, RunLedger } from './run-ledger.ts';

/** Writes a squad down: the files of its runs, then everything else, and what is to be true along with it, in one transaction. What fails leaves nothing behind. */
export async function writeDown(
  { squad, runs }: PlannedSquad,
  { store, files }: LedgerPorts,
  ledger: RunLedger,
  along: Change = { events: [] },
): Promise<LiveRun[]> {
  try {
    const entries = await Promise.all(runs.map(planned => writeFiles(planned, files)));
    await store.commit({
      ...along,
      squads: [squad],
      runs: [...runs.map(({ run }) => ({ ...run })), ...(along.runs ?? [])],
      events: [
        {
          at: squad.createdAt,
          runId: null,
          squadId: squad.id,
          body: { type: 'squad.created', members: runs.length },
        },
        ...runs.map(({ run }) => ledger.event(run, queued(run))),
        ...along.events,
      ],
    });
    return entries;
  } catch (thrown) {
    await Promise.allSettled(runs.map(({ run }) => files.remove(run.id)));
    throw thrown;
  }
}

function queued({ roleId, engine, options: { subagent } }: Run): EventBody {
  return { type: 'run.queued', roleId, engine, ...(subagent !== null && { subagent }) };
}

async function writeFiles(
  { run, request, prompt, engine, spec, env, variables }: PlannedRun,
  files: RunFiles,
): Promise<LiveRun> {
  const turn = { runId: run.id, number: 1 };
  const { promptFile } = await files.prepare(turn, prompt);
  await Promise.all([
    files.saveEnvironment(run.id, env),
    Object.keys(variables).length > 0 && files.saveVariables(run.id, variables),
    keepPlan(files, turn, spec, request),
  ]);
  return new LiveRun(run, { engine, spec }, { prompt, promptFile, env });
}
