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
 * Gives this hub the environment of the last one that the user started, if a run's command has started it: an agent would
 * otherwise choose the database, the port and the PATH of everybody's hub. A user's own is kept for that.
 */
export async function takeStartEnvironment({ home, env, startedBy, runOfProcess }: Start): Promise<void> {
  const file = join(home, FILE);
  const saved = savedIn(file);
  const run = await runOfProcess(startedBy);
  // A process that ended before the hub looked, such as a command with a timeout, may have been an agent's.
  if (run === null && process.ppid === startedBy) {
    const own = JSON.stringify(hubEnvironment(env));
    if (JSON.stringify(saved) !== own) keep(file, own);
    return;
  }
  if (!saved) return;
  for (const name of Object.keys(env)) delete env[name];
  Object.assign(env, hubEnvironment(saved), { SQUAD_HOME: home });
}

function keep(file: string, text: string): void {
  try {
    replaceFile(file, text, 0o600);
  } catch {
    // A full disk: the one before stays, and a hub that starts is worth more.
  }
}

/** Null when there is none that can be used: then what there is has to do. */
function savedIn(file: string): Record<string, string> | null {
  try {
    return Saved.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

const MAX_NAMED = 5;

/** Runs of the caller's workspace that were asked for since then, for a client whose call was lost with the hub. */
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
