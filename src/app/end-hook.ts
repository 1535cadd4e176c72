import { homedir } from 'node:os';
import { childEnvironment } from '../process/environment.ts';
import { runHook } from '../process/run-hook.ts';
import type { Run } from '../schema/run.ts';

const LIMIT_MS = 60_000;
/** What a hub that stops still gives to commands that are at work. */
const PATIENCE_MS = 2_000;

export interface EndHookPorts {
  /** Where the hub itself finds programs. */
  path: string;
  savedEnvironment(): Promise<Record<string, string>>;
  /** One of them has ended. */
  onDone(): void;
  warn(message: string): void;
}

/** Runs the user's own command for the end of each run, with the facts on its standard input. No run waits for it. */
export class EndHooks {
  private readonly ports: EndHookPorts;
  private readonly atWork = new Set<Promise<void>>();
  private readonly stop = new AbortController();

  constructor(ports: EndHookPorts) {
    this.ports = ports;
  }

  get isBusy(): boolean {
    return this.atWork.size > 0;
  }

  tell(run: Run): void {
    const [program, ...args] = run.options.onEnd ?? [];
    if (program === undefined) return;
    const work = this.run([program, ...args], { ...run })
      .catch(thrown => String(thrown))
      .then(fault => {
        this.atWork.delete(work);
        if (fault !== null) this.ports.warn(`onEnd for ${run.id}: ${fault}`);
        this.ports.onDone();
      });
    this.atWork.add(work);
  }

  /** Settles when none is at work: nobody would be there to end one that takes too long. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.stop.abort(), PATIENCE_MS);
    while (this.isBusy) await Promise.all(this.atWork);
    clearTimeout(timer);
  }

  /** What went wrong, if something did. */
  private async run(
    argv: [string, ...string[]],
    { id, squadId, status, directory, ...run }: Run,
  ): Promise<string | null> {
    const saved = await this.ports.savedEnvironment();
    const facts = { spawn_id: id, squad_id: squadId, status, role_id: run.roleId, engine: run.engine };
    return runHook({
      argv,
      cwd: directory,
      env: {
        ...childEnvironment({ client: { PATH: this.ports.path }, saved, home: homedir() }),
        ...{ HOME: homedir(), SQUAD_HOOK_RUN: id, SQUAD_HOOK_SQUAD: squadId, SQUAD_HOOK_STATUS: status },
      },
      stdin: JSON.stringify({ ...facts, error: run.error, usage: run.usage, evidence: run.evidence }),
      limitMs: LIMIT_MS,
      signal: this.stop.signal,
    });
  }
}
