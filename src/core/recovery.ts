import type { Run } from '../schema/run.ts';
import { LiveRun } from './live-run.ts';
import type { EngineSpec, Engines, Executor, RunFiles, Store } from './ports.ts';
import type { Runner } from './runner.ts';

export interface Recovered {
  watched: number;
  ended: number;
  requeued: number;
  lost: number;
}

export interface RecoveryPorts {
  store: Store;
  files: RunFiles;
  executor: Executor;
  engines: Engines;
}

/** Squares the database with what is really there, run by run, and leaves none of them unaccounted for. */
export async function recover(runner: Runner, ports: RecoveryPorts): Promise<Recovered> {
  const counts: Recovered = { watched: 0, ended: 0, requeued: 0, lost: 0 };
  const runs = await ports.store.liveRuns();
  const found = await Promise.all(runs.map(run => recoverRun(run, runner, ports)));
  for (const outcome of found) counts[outcome]++;
  return counts;
}

async function recoverRun(run: Run, runner: Runner, ports: RecoveryPorts): Promise<keyof Recovered> {
  const { store, files, executor, engines } = ports;
  const first = { runId: run.id, number: 1 };
  const [spec, prompt, turns] = await Promise.all([
    files.read(first, 'engine.json'),
    files.read(first, 'prompt.md'),
    store.turns(run.id),
  ]);
  if (spec === null || prompt === null) {
    await runner.lose(run, {
      code: 'LOST',
      message: 'Its folder is gone, and with it what it was to do and what it wrote.',
    });
    return 'lost';
  }
  const engineSpec = JSON.parse(spec) as EngineSpec;
  const found = await executor.find(first, { keepLeftovers: run.keepLeftovers });

  if (found.state === 'never_started' && run.status === 'queued') {
    // A create-chat command may have been at work: it is ended here and asked again.
    await executor.find({ runId: run.id, number: 0 }, { keepLeftovers: false }).then(chat => {
      if (chat.state === 'live') chat.turn.stop(0);
    });
    const { promptFile } = await files.prepare(first, prompt);
    runner.requeue(run, engineSpec, { prompt, promptFile, env: await files.environment(run.id) });
    return 'requeued';
  }

  const entry = new LiveRun(run, engines.create(engineSpec), null);
  entry.turn = turns.at(-1) ?? null;
  entry.stop = entry.turn?.stop ?? null;
  if (found.state === 'live') {
    await runner.adopt(entry, found.turn);
    return 'watched';
  }
  const end =
    found.state === 'ended'
      ? found.end
      : {
          exitCode: null,
          spawnError: null,
          leftovers: [],
          endedAt: found.state === 'gone' ? found.endedAt : run.createdAt,
        };
  await runner.settle(entry, end);
  return found.state === 'ended' ? 'ended' : 'lost';
}
