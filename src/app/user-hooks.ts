import { homedir } from 'node:os';
import { childEnvironment } from '../process/programs/environment.ts';
import { runHook } from '../process/programs/run-hook.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { type Run, runSummary } from '../schema/run.ts';

const HOOK_TIMEOUT_MS = 60_000;
/** What a hub that stops still gives to commands that are at work. */
const STOP_TIMEOUT_MS = 2_000;

export interface UserHookPorts {
  /** Where the hub itself finds programs. */
  path: string;
  savedEnvironment(): Promise<Record<string, string>>;
  /** One of them has ended. */
  onDone(): void;
  warn(message: string): void;
}

interface Told {
  /** Added to what every command of the user's has in its environment. Nothing an agent worded. */
  variables: Record<string, string>;
  facts: Record<string, unknown>;
}

/** Runs the user's own commands for what happens to runs, with the facts on their standard input. No run waits for one. */
export class UserHooks {
  private readonly ports: UserHookPorts;
  private readonly atWork = new Set<Promise<void>>();
  private readonly stop = new AbortController();

  constructor(ports: UserHookPorts) {
    this.ports = ports;
  }

  get isBusy(): boolean {
    return this.atWork.size > 0;
  }

  tellEnd(run: Run): void {
    const { status, error, usage, evidence } = run;
    this.begin('onEnd', run, {
      variables: { SQUAD_HOOK_STATUS: status },
      facts: { status, role_id: run.roleId, engine: run.engine, error, usage, evidence },
    });
  }

  /** Once for each item that the user is to answer, and for none whose time is up as soon as it is asked. */
  tellAsk(run: Run, item: InboxItem): void {
    if (item.owner !== 'user' || item.deadlineAt <= item.createdAt) return;
    const { id, kind, source, question, details, choices, fields } = item;
    this.begin('onAsk', run, {
      variables: { SQUAD_HOOK_ASK: id },
      facts: {
        ...{ ask_id: id, role_id: run.roleId, engine: run.engine, title: runSummary(run) },
        ...{ kind, source, question, details, choices, fields, default: item.default },
        ...{ asked_at: item.createdAt, deadline_at: item.deadlineAt },
      },
    });
  }

  /** Settles when none is at work: nobody would be there to end one that takes too long. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.stop.abort(), STOP_TIMEOUT_MS);
    while (this.isBusy) await Promise.all(this.atWork);
    clearTimeout(timer);
  }

  private begin(setting: 'onEnd' | 'onAsk', run: Run, told: Told): void {
    const [program, ...args] = run.options[setting] ?? [];
    if (program === undefined) return;
    const work = this.run([program, ...args], run, told)
      .catch(thrown => String(thrown))
      .then(fault => {
        this.atWork.delete(work);
        if (fault !== null) this.ports.warn(`${setting} for ${run.id}: ${fault}`);
        this.ports.onDone();
      });
    this.atWork.add(work);
  }

  /** What went wrong, if something did. */
  private async run(
    argv: [string, ...string[]],
    { id, squadId, directory }: Run,
    { variables, facts }: Told,
  ): Promise<string | null> {
    const saved = await this.ports.savedEnvironment();
    return runHook({
      argv,
      cwd: directory,
      env: {
        ...childEnvironment({ client: { PATH: this.ports.path }, saved, home: homedir() }),
        ...{ HOME: homedir(), SQUAD_HOOK_RUN: id, SQUAD_HOOK_SQUAD: squadId },
        ...variables,
      },
      stdin: JSON.stringify({ spawn_id: id, squad_id: squadId, ...facts }),
      limitMs: HOOK_TIMEOUT_MS,
      signal: this.stop.signal,
    });
  }
}
