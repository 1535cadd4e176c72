import { findSandbox } from '../code-mode/find-sandbox.ts';
import type { Traces } from '../core/conversations/recorder.ts';
import { allowed, notAllowed } from '../core/policy.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { Connection } from '../hub/server.ts';
import type { Bye, Handshake } from '../link/handshake.ts';
import { subagentFace } from '../mcp/subagent-face.ts';
import { subjectOf } from '../operations/agent-services.ts';
import type { UserServices } from '../operations/operation.ts';
import { RUN_SUBAGENT } from '../operations/subagents/run-subagent.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { runName } from '../schema/run-text.ts';
import type { Subagent } from '../schema/subagent.ts';
import { serveStream } from '../wire/stream/serve-stream.ts';
import { readSubagent } from '../workspace/subagents/subagent-file.ts';

/** From the last word of a client to the end of its connection, beside the grace that agents have: their servers end too. */
const STOP_MS = 10_000;
/** A hub that stops has little time. */
const HUB_STOP_MS = 8_000;
/** Told to a client that has ended, so that it can tell this end of the connection from that of a killed hub. */
const DONE = `${JSON.stringify({ squad: 1, bye: 'done', idle: true } satisfies Bye)}\n`;
/** No chain of parents is longer; a loop in a damaged database would be. */
const MAX_LINE_LENGTH = 100;

export interface SubagentViewPorts {
  services(): UserServices;
  version: string;
  workspaces: Workspaces;
  traces: Pick<Traces, 'on'>;
  /** Also one that has ended. */
  run(id: RunId): Promise<Run | null>;
  /** Settles when the servers of a run that has ended are gone. */
  serversGone(id: RunId): Promise<void>;
  /** Settles when nothing is left of the calls that a killed hub had. */
  lostGone: Promise<unknown>;
  onInFlight(change: number): void;
  debug(error: unknown): void;
}

/** MCP clients that see the one tool a file defines. */
export class SubagentViews {
  private readonly ports: SubagentViewPorts;
  private readonly subagents = new WeakMap<Handshake, Subagent>();
  private readonly stopping = new AbortController();
  /** With every call until nothing is left of it, whether it was answered or taken back. */
  private readonly connections = new Map<Connection, Set<Promise<unknown>>>();
  private onChange = () => {};

  constructor(ports: SubagentViewPorts) {
    this.ports = ports;
  }

  /** Reads the file, which is then what it is for as long as the client is there. Throws what is wrong with it, returns what else is to be said. */
  async prepare(hello: Handshake, caller: Caller): Promise<string[]> {
    const { config } = hello;
    if (config === undefined) throw new SquadError('INVALID_INPUT', 'Which subagent it is about is not said');
    // Before it is read: whoever may not call it is told nothing about the file either.
    const subject = subjectOf({ services: this.ports.services(), caller });
    if (!allowed(subject, RUN_SUBAGENT)) throw notAllowed(subject, RUN_SUBAGENT);
    const env = await this.ports.workspaces.environment(caller);
    const warnings: string[] = [];
    const subagent = await readSubagent(config, env, text => warnings.push(text));
    if (subagent.codeMode) await refuseWithoutSandbox(env);
    this.subagents.set(hello, subagent);
    return warnings;
  }

  /** Until the client leaves, and what ran for it is gone. */
  async serve(connection: Connection, caller: Caller): Promise<void> {
    const { socket, hello } = connection;
    const subagent = this.subagents.get(hello)!;
    const leaving = new Set<Promise<unknown>>();
    const stream = serveStream({
      input: socket,
      output: socket,
      drainMs: this.ports.services().settings.all()['stop.grace_ms'] + STOP_MS,
      untilGone: async () => {
        while (leaving.size > 0) await Promise.allSettled([...leaving]);
        await this.ports.lostGone;
        if (socket.writable) socket.write(DONE);
      },
      build: () => this.face(subagent, caller, leaving),
      onInFlight: count => this.count(connection, count),
      onError: error => this.ports.debug(error),
    });
    this.connections.set(connection, leaving);
    socket.resume();
    await stream.closed;
    this.count(connection, 0);
    this.connections.delete(connection);
  }

  /** Calls are under way, or something of one is still ending. */
  get isBusy(): boolean {
    return [...this.connections].some(([{ calls }, leaving]) => calls > 0 || leaving.size > 0);
  }

  /** Every call is stopped and answered, and nothing is left of any. */
  async close(): Promise<void> {
    this.stopping.abort();
    await new Promise<void>(settle => {
      const tooLate = setTimeout(settle, HUB_STOP_MS);
      this.onChange = () => {
        if (this.isBusy) return;
        clearTimeout(tooLate);
        settle();
      };
      this.onChange();
    });
  }

  private face(subagent: Subagent, caller: Caller, leaving: Set<Promise<unknown>>) {
    const { version, traces, serversGone, run } = this.ports;
    const parent = caller.parent?.id;
    return subagentFace({
      ...{ services: this.ports.services(), version, caller, subagent, serversGone },
      stopping: this.stopping.signal,
      onLeaving: isGone => {
        leaving.add(isGone);
        const done = () => {
          leaving.delete(isGone);
          this.onChange();
        };
        isGone.then(done, done);
      },
      listen: (id, listener) => traces.on(id, listener),
      line: async () => (parent === undefined ? [] : lineOf(parent, run)),
    });
  }

  private count(connection: Connection, count: number): void {
    const change = count - connection.calls;
    connection.calls = count;
    this.ports.onInFlight(change);
    this.onChange();
  }
}

/** Who called whom, from the outermost on. */
async function lineOf(id: RunId, runOf: SubagentViewPorts['run']): Promise<string[]> {
  const names: string[] = [];
  for (let next: RunId | null = id; next !== null && names.length < MAX_LINE_LENGTH; ) {
    const run: Run | null = await runOf(next);
    if (!run) break;
    names.unshift(runName(run));
    next = run.parentId;
  }
  return names;
}

/** Told at its start: whoever calls it later cannot install anything. */
async function refuseWithoutSandbox(env: Record<string, string>): Promise<void> {
  const sandbox = await findSandbox(env);
  if ('missing' in sandbox)
    throw new SquadError('SANDBOX_MISSING', sandbox.missing, { suggestions: sandbox.suggestions });
}
