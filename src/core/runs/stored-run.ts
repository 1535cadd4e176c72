import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import type { Engines } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import { keptPlan, PLAN_FILE } from './kept-plan.ts';
import type { RunEngine, RunMaterial } from './live-run.ts';

interface StoredRunPorts {
  files: RunFiles;
  engines: Pick<Engines, 'create'>;
}

/** The engine of a run that an earlier hub left, built from the run's folder. Throws LOST when the folder is gone or damaged. */
export async function storedEngine(run: Run, ports: StoredRunPorts): Promise<RunEngine> {
  return (await storedParts(run, ports)).engine;
}

/** Engine and material of a run that an earlier hub left in the queue. Throws LOST also without its environment. */
export async function storedRun(
  run: Run,
  ports: StoredRunPorts,
): Promise<{ engine: RunEngine; material: RunMaterial }> {
  const { files } = ports;
  const { engine, prompt } = await storedParts(run, ports);
  const env = await files.environment(run.id).catch(unreadable);
  // Every run is stored with one: an agent without PATH and HOME would fail for a reason that nobody could guess.
  if (Object.keys(env).length === 0)
    throw lost('What is in its folder cannot be read any more (environment.json).');
  const promptFile = files.path({ runId: run.id, number: run.turn }, PROMPT_FILE);
  return { engine, material: { prompt, promptFile, env } };
}

const PROMPT_FILE = 'prompt.md';

async function storedParts(
  run: Run,
  { files, engines }: StoredRunPorts,
): Promise<{ engine: RunEngine; prompt: string }> {
  const prompt = await files.read({ runId: run.id, number: run.turn }, PROMPT_FILE).catch(unreadable);
  if (prompt === null) throw lost('Its folder is gone, and with it what it was to do and what it wrote.');
  const plan = await keptPlan(files, run).catch(unreadable);
  if (!plan)
    throw lost(`What is in its folder cannot be read any more (${PLAN_FILE}). Its output so far is kept.`);
  return { engine: { engine: engines.create(plan.spec), spec: plan.spec }, prompt };
}

const unreadable = (thrown: unknown): never => {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  throw lost(`What is in its folder cannot be read: ${why}`, thrown);
};

const lost = (message: string, cause?: unknown) => new SquadError('LOST', message, { cause });
