import { homedir } from 'node:os';
import { childEnvironment } from '../process/programs/environment.ts';
import { runHook } from '../process/programs/run-hook.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { type Run, runSummary } from '../schema/run.ts';

const HOOK_TIMEOUT_MS = 60_000;
/** Time that hooks have to finish when the hub stops. */
const STOP_TIMEOUT_MS = 2_000;

export interface UserHookPorts {
  /** PATH of the hub. */
  path: string;
  savedEnvironment(): Record<string, string>;
  /** Called when a hook has ended. */
  onDone(): void;
  warn(message: string): void;
}

interface HookInput {
  /** Variables that are added to the environment. They contain no text of agents. */
  variables: Record<string, string>;
  facts: Record<string, unknown>;
}

/** Runs the user's hook commands, with JSON on their standard input. No run waits for a hook. */
export class UserHooks {
  private readonly ports: UserHookPorts;
  private readonly running = new Set<Promise<void>>();
  private readonly stop = new AbortController();

  constructor(ports: UserHookPorts) {
    this.ports = ports;
  }

  get isBusy(): boolean {
    return this.running.size > 0;
  }

  tellEnd(run: Run): void {
    const { status, error, usage, evidence } = run;
    this.begin('onEnd', run, {
      variables: { SQUAD_HOOK_STATUS: status },
      facts: { status, role_id: run.roleId, engine: run.engine, error, usage, evidence },
    });
  }

  /** Runs the hook for each item that the user has to answer, except items that expire at once. */
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

  /** Settles when no hook is running. The hub has to wait, because nobody else would end a hook that takes too long. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.stop.abort(), STOP_TIMEOUT_MS);
    while (this.isBusy) await Promise.all(this.running);
    clearTimeout(timer);
  }

  private begin(setting: 'onEnd' | 'onAsk', run: Run, input: HookInput): void {
    const [program, ...args] = run.options[setting] ?? [];
    if (program === undefined) return;
    const work = this.run([program, ...args], run, input)
      .catch(thrown => String(thrown))
      .then(fault => {
        this.running.delete(work);
        if (fault !== null) this.ports.warn(`${setting} for ${run.id}: ${fault}`);
        this.ports.onDone();
      });
    this.running.add(work);
  }

  /** Returns the error message of the hook, or null. */
  private async run(
    argv: [string, ...string[]],
    { id, squadId, directory, workspace, worktree, options }: Run,
    { variables, facts }: HookInput,
  ): Promise<string | null> {
    const saved = this.ports.savedEnvironment();
    return runHook({
      argv,
      // A relative path in the command would otherwise be a file that the sandboxed agent can write.
      cwd: worktree && options.sandbox.level !== 'off' ? workspace : directory,
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
