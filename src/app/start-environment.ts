import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Caller } from '../core/ports/workspace.ts';
import { replaceFile } from '../link/replace-file.ts';
import { hubEnvironment } from '../link/start-hub.ts';
import { servicesForAgent, subjectOf } from '../operations/agent-services.ts';
import type { Services } from '../operations/operation.ts';
import { listRunning } from '../operations/runs/list-runs.ts';
import type { RunOfProcess } from '../process/table/run-of-process.ts';
import { runName } from '../schema/run-text.ts';

const FILE = 'hub-environment.json';
const Saved = z.record(z.string(), z.string());

interface Start {
  home: string;
  env: Record<string, string | undefined>;
  /** Process that started this hub. */
  startedBy: number;
  runOfProcess: RunOfProcess;
}

/**
 * Gives this hub the environment of the last hub that the user started, if a run's command has started it. Otherwise an agent
 * would choose the database, the port and the PATH of the user's hub. The environment of a user's hub is saved for that.
 */
export async function takeStartEnvironment({ home, env, startedBy, runOfProcess }: Start): Promise<void> {
  const file = join(home, FILE);
  const saved = savedIn(file);
  const run = await runOfProcess(startedBy);
  // A starter that has already ended, such as a command with a timeout, may have been an agent's.
  if (run === null && process.ppid === startedBy) {
    const own = JSON.stringify(hubEnvironment(env));
    if (JSON.stringify(saved) !== own) save(file, own);
    return;
  }
  if (!saved) return;
  for (const name of Object.keys(env)) delete env[name];
  Object.assign(env, hubEnvironment(saved), { SQUAD_HOME: home });
}

function save(file: string, text: string): void {
  try {
    replaceFile(file, text, 0o600);
  } catch {
    // A full disk: the previous file stays. Starting is more important.
  }
}

/** Null when there is no usable file. */
function savedIn(file: string): Record<string, string> | null {
  try {
    return Saved.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

const MAX_NAMED = 5;

/** Runs of the caller's workspace that were created since then, for a client whose call was lost with the hub. */
export async function startedSince(at: number, caller: Caller, services: Services): Promise<string[]> {
  const workspace = await services.workspaces.root(caller).catch(() => null);
  if (workspace === null) return [];
  const subject = subjectOf({ services, caller });
  const { store } =
    subject.kind === 'user' ? services : await servicesForAgent(services, subject, listRunning);
  const runs = await store.runs({ workspace, limit: MAX_NAMED });
  return runs
    .filter(({ createdAt }) => createdAt >= at)
    .map(run => `${run.id} (${runName(run)}, ${run.status})`);
}
