import { findSandbox } from '../code-mode/sandbox.ts';
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

/**
 * Time between the end of a client's input and the end of its connection, in addition to the grace time of agents.
 * The agents' MCP servers have to end in this time too.
 */
const STOP_TIMEOUT_MS = 10_000;
/** Shorter timeout for a hub that is stopping, because such a hub has little time. */
const HUB_STOP_TIMEOUT_MS = 8_000;
/**
 * Last line that the hub sends to a client that has ended. A client that does not get this line knows that the hub was
 * killed.
 */
const DONE = `${JSON.stringify({ squad: 1, bye: 'done', idle: true } satisfies Bye)}\n`;
/** Maximum number of parents to follow. Only a cycle in a damaged database is longer. */
const MAX_PARENTS = 100;

export interface SubagentViewPorts {
  services(): UserServices;
  version: string;
  workspaces: Workspaces;
  traces: Pick<Traces, 'on'>;
  /** Finds a run, even if it has ended. */
  run(id: RunId): Promise<Run | null>;
  /** Settles when the MCP servers of an ended run have ended. */
  serversGone(id: RunId): Promise<void>;
  /** Settles when the subagent calls of a killed hub have ended, with everything that they started. */
  lostGone: Promise<unknown>;
  onInFlight(change: number): void;
  debug(error: unknown): void;
}

/** Serves MCP clients that see a single tool, which a subagent file defines. */
export class SubagentViews {
  private readonly ports: SubagentViewPorts;
  private readonly subagents = new WeakMap<Handshake, Subagent>();
  private readonly stopping = new AbortController();
  /** Calls of each connection that still have running processes, including answered and cancelled calls. */
  private readonly connections = new Map<Connection, Set<Promise<unknown>>>();
  private onChange = () => {};

  constructor(ports: SubagentViewPorts) {
    this.ports = ports;
  }

  /**
   * Reads the subagent file. Its content applies for the whole connection. Throws if the file has errors, and returns
   * warnings.
   */
  async prepare(handshake: Handshake, caller: Caller): Promise<string[]> {
    const { config } = handshake;
    if (config === undefined) throw new SquadError('INVALID_INPUT', 'The handshake names no subagent file');
    // The permission is checked before the file is read, so that a caller without permission learns nothing about the
    // file.
    const subject = subjectOf({ services: this.ports.services(), caller });
    if (!allowed(subject, RUN_SUBAGENT)) throw notAllowed(subject, RUN_SUBAGENT);
    const env = await this.ports.workspaces.environment(caller);
    const warnings: string[] = [];
    const subagent = await readSubagent(config, env, text => warnings.push(text));
    if (subagent.codeMode) await refuseWithoutSandbox(env);
    this.subagents.set(handshake, subagent);
    return warnings;
  }

  /** Settles when the client has disconnected and everything that ran for it has ended. */
  async serve(connection: Connection, caller: Caller): Promise<void> {
    const { socket, handshake } = connection;
    const subagent = this.subagents.get(handshake)!;
    const leaving = new Set<Promise<unknown>>();
    const stream = serveStream({
      input: socket,
      output: socket,
      drainMs: this.ports.services().settings.all()['stop.grace_ms'] + STOP_TIMEOUT_MS,
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

  /** True while calls are running, or processes of a call are still ending. */
  get isBusy(): boolean {
    return [...this.connections].some(([{ calls }, leaving]) => calls > 0 || leaving.size > 0);
  }

  /** Stops every running call and answers it with an error. Resolves when the processes of all calls have ended. */
  async close(): Promise<void> {
    this.stopping.abort();
    await new Promise<void>(settle => {
      const tooLate = setTimeout(settle, HUB_STOP_TIMEOUT_MS);
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

/** Names of the run's ancestors and of the run itself, outermost first. */
async function lineOf(id: RunId, runOf: SubagentViewPorts['run']): Promise<string[]> {
  const names: string[] = [];
  for (let next: RunId | null = id; next !== null && names.length < MAX_PARENTS; ) {
    const run: Run | null = await runOf(next);
    if (!run) break;
    names.unshift(runName(run));
    next = run.parentId;
  }
  return names;
}

/**
 * Throws if code mode has no sandbox. Called when the connection starts, because the model that calls the tool cannot
 * install a sandbox.
 */
async function refuseWithoutSandbox(env: Record<string, string>): Promise<void> {
  const sandbox = await findSandbox(env);
  if ('missing' in sandbox)
    throw new SquadError('SANDBOX_MISSING', sandbox.missing, { suggestions: sandbox.suggestions });
}
