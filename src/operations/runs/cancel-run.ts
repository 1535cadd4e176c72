import { z } from 'zod';
import { firstThatFit } from '../../core/output/digest.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import type { Canceller } from '../../core/runs/runner.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services, type UserServices } from '../operation.ts';
import { findRun, findSquad } from './find-runs.ts';
import { liveRunsOf } from './list-runs.ts';
import { RESULT_LIMIT } from './run-result.ts';
import { waitForEnds } from './wait.ts';

interface Stopped {
  run: Run;
  /** False if the run had already ended. */
  wasRunning: boolean;
}

export async function cancellerOf({
  services,
  caller,
}: Pick<Call, 'services' | 'caller'>): Promise<Canceller | null> {
  const { parent, client } = caller;
  if (parent) return { name: parent.id, folder: null };
  if (client === null) return null;
  // The folder is null for a request of the web UI, which has none.
  return { name: client, folder: await services.workspaces.root(caller).catch(() => null) };
}

/** Cancels runs and everything they started: delegated work is useless without the run that delegated it. */
export async function stopRuns(
  services: Services,
  runs: Run[],
  by: Canceller | null = null,
): Promise<{ asked: Stopped[]; below: Stopped[] }> {
  // Parents are stopped first, so that they start no more runs.
  const asked = await stopEach(services, runs, by);
  return { asked, below: await stopDescendants(services, runs, by) };
}

/**
 * Like `stopRuns`, but waits until all have ended, including runs that were started while their parents were being
 * stopped.
 */
export async function stopRunsAndWait(
  services: Services,
  runs: Run[],
  by: Canceller | null,
  untilEnded: (stopped: Run[]) => Promise<unknown>,
): Promise<{ asked: Stopped[]; below: Stopped[] }> {
  const wait = (stopped: Stopped[]) =>
    untilEnded(stopped.filter(({ wasRunning }) => wasRunning).map(({ run }) => run));
  const { asked, below } = await stopRuns(services, runs, by);
  await wait([...asked, ...below]);
  const late = await stopDescendants(services, runs, by);
  await wait(late);
  return { asked, below: [...below, ...late] };
}

async function stopDescendants(services: Services, runs: Run[], by: Canceller | null): Promise<Stopped[]> {
  const { runner, store } = services;
  const families = await Promise.all(runs.map(run => descendantsOf(store, run.id)));
  const ids = new Set(families.flat().map(({ id }) => id));
  for (const { id } of runs) ids.delete(id);
  const live = [...ids].flatMap(id => runner.current(id) ?? []);
  return (await stopEach(services, live, by)).filter(({ wasRunning }) => wasRunning);
}

const stopEach = (services: Services, runs: Run[], by: Canceller | null): Promise<Stopped[]> =>
  Promise.all(runs.map(async run => ({ run, wasRunning: await stopOne(services, run, by) })));

async function stopOne({ runner, store }: Services, run: Run, by: Canceller | null): Promise<boolean> {
  if (isEnd(run.status) || runner.current(run.id) || !(await store.otherOwner(run.id)))
    return runner.stop(run.id, 'cancel', by);
  await store.requestStop(run.id, by?.name ?? 'another hub');
  return true;
}

/** Cancels the runs of this hub, and everything they started, that other hubs asked to stop. */
export async function stopAsAsked(services: UserServices): Promise<void> {
  for (const { runId, by } of await services.store.stopRequests()) {
    const run = services.runner.current(runId);
    if (run) await stopRuns(services, [run], { name: by, folder: null });
  }
}

/**
 * How long a cancellation waits for the runs to end. Longer than the grace period after which an agent is killed, so
 * that the reply can report how each run ended.
 */
const END_TIMEOUT_MS = 15_000;
const REST_LENGTH = 100;
const MAX_FOLDERS = 3;

export const cancelRun = operation({
  name: 'cancel_run',
  route: 'POST /cancel',
  agents: 'spawn',
  tool: {
    title: 'Cancel run',
    description:
      'Stop a run, a squad, or all runs of this workspace, with all they started. Output so far is kept.',
    readOnly: false,
  },
  input: z.strictObject({
    spawn_id: z.string().optional(),
    squad_id: z.string().optional(),
    all: z.boolean().optional(),
    everywhere: z.boolean().optional(),
  }),
  output: z.object({
    runs: z.array(z.object({ spawn_id: z.string(), status: z.string(), was_running: z.boolean() })),
    note: z.string().optional(),
  }),
  async run(call, input) {
    const { runs, note } = await chosenRuns(call, input);
    const by = await cancellerOf(call);
    const waitMs = Math.min(END_TIMEOUT_MS, call.waitMs ?? END_TIMEOUT_MS);
    const { asked, below } = await stopRunsAndWait(call.services, runs, by, stopped =>
      waitForEnds(call, stopped, waitMs),
    );
    const ended = [...asked, ...below].map(({ run, wasRunning }) => ({
      spawn_id: run.id,
      status: shownStatus(run),
      was_running: wasRunning,
    }));
    const shown = firstThatFit(ended, RESULT_LIMIT - REST_LENGTH);
    const started = below.length;
    const notes = [
      ...(note === null ? [] : [note]),
      ...(started > 0 ? [`${started} of these ${started === 1 ? 'was' : 'were'} started by the others`] : []),
      ...(shown.length < ended.length ? [`${ended.length - shown.length} more are not shown`] : []),
    ];
    return { runs: shown, ...(notes.length > 0 && { note: notes.join('; ') }) };
  },
});

async function chosenRuns(
  call: Call,
  { spawn_id, squad_id, all, everywhere = false }: z.output<typeof cancelRun.input>,
): Promise<{ runs: Run[]; note: string | null }> {
  if ([spawn_id !== undefined, squad_id !== undefined, all === true].filter(Boolean).length !== 1)
    throw new SquadError('INVALID_INPUT', 'Give one of spawn_id, squad_id and all', {
      suggestions: ['list_running shows the ids of running runs.'],
    });
  if (everywhere && !all)
    throw new SquadError('INVALID_INPUT', 'everywhere is only valid together with all', {
      suggestions: ['Give all: true with it, or leave it out. Nothing was stopped.'],
    });
  if (all) {
    const { runs, others } = await liveRunsOf(call, everywhere);
    return { runs, note: runs.length === 0 && others.length > 0 ? otherWorkspacesNote(others) : null };
  }
  const { services } = call;
  if (squad_id !== undefined) {
    const { squad, runs } = await findSquad(services, squad_id, 'any');
    refusePrefix(squad.id, squad_id, 'SQUAD_UNKNOWN');
    return { runs, note: null };
  }
  const run = await findRun(services, spawn_id!, 'any');
  refusePrefix(run.id, spawn_id!, 'RUN_UNKNOWN');
  return { runs: [run], note: null };
}

function otherWorkspacesNote(others: Run[]): string {
  const folders = [...new Set(others.map(({ workspace }) => workspace))];
  const more = folders.length > MAX_FOLDERS ? ` and ${folders.length - MAX_FOLDERS} more` : '';
  const places = folders.slice(0, MAX_FOLDERS).join(', ') + more;
  return `No runs in this workspace; ${others.length} in other workspaces (${places}). Give everywhere: true to stop them`;
}

/** A unique prefix of an id is enough for reading, not for stopping. */
function refusePrefix(found: string, given: string, code: 'RUN_UNKNOWN' | 'SQUAD_UNKNOWN'): void {
  if (found === given) return;
  throw new SquadError(code, `cancel_run needs a complete id, and ${given} is only the beginning of one`, {
    suggestions: [`Did you mean ${found}?`],
  });
}
