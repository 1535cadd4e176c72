import { homedir } from 'node:os';
import { childEnvironment } from '../process/environment.ts';
import { runHook } from '../process/run-hook.ts';
import type { Run } from '../schema/run.ts';

const LIMIT_MS = 60_000;

export interface EndHookPorts {
  /** Where the hub itself finds programs. */
  path: string;
  savedEnvironment(): Promise<Record<string, string>>;
  warn(message: string): void;
}

/** Runs the user's own command for the end of a run, with the facts on its standard input. Nobody waits for it. */
export async function tellEndHook(
  { id, squadId, status, options, directory, ...run }: Run,
  { path, savedEnvironment, warn }: EndHookPorts,
): Promise<void> {
  const [program, ...args] = options.onEnd ?? [];
  if (program === undefined) return;
  const saved = await savedEnvironment();
  const facts = { spawn_id: id, squad_id: squadId, status, role_id: run.roleId, engine: run.engine };
  const fault = await runHook({
    argv: [program, ...args],
    cwd: directory,
    env: {
      ...childEnvironment({ client: { PATH: path }, saved, home: homedir() }),
      ...{ HOME: homedir(), SQUAD_HOOK_RUN: id, SQUAD_HOOK_SQUAD: squadId, SQUAD_HOOK_STATUS: status },
    },
    stdin: JSON.stringify({ ...facts, error: run.error, usage: run.usage, evidence: run.evidence }),
    limitMs: LIMIT_MS,
  });
  if (fault !== null) warn(`onEnd for ${id}: ${fault}`);
}
