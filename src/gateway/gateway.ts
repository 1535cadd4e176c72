import type { Clock } from '../base/clock.ts';
import { realTimers, type Timers } from '../base/timers.ts';
import { describeServerError } from '../core/gateway/degradation.ts';
import type { Audit, ConfigInForce, Gateway, McpConfigs, PinStore } from '../core/ports/gateway.ts';
import type { Secret } from '../redaction/redactor.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run } from '../schema/run.ts';
import type { Json } from '../wire/upstream/link.ts';
import { DenialCounter } from './access/denials.ts';
import { createRunGate, type RunAccess } from './access/run-access.ts';
import { hasOwnServers } from './access/run-servers.ts';
import { Admin } from './admin.ts';
import { LongCalls } from './upstream/call-limit.ts';
import type { ListKind } from './upstream/catalogue.ts';
import type { Connect } from './upstream/connect.ts';
import { createPinBooks } from './upstream/pins.ts';
import { Pool, UnusableServers } from './upstream/pool.ts';

/** Runs that are over and may still be asked about; more are forgotten. */
const MAX_ENDED = 10_000;

/** The runs that are at work, each with what belongs to it here. */
class RunAccessTable {
  readonly #create: (run: Run) => RunAccess;
  readonly #gates = new Map<RunId, { run: Run; gate: RunAccess }>();
  readonly #ended = new Set<RunId>();

  constructor(create: (run: Run) => RunAccess) {
    this.#create = create;
  }

  of(runId: RunId): RunAccess | null {
    return this.#gates.get(runId)?.gate ?? null;
  }

  /** Null: the run is over. */
  enter(run: Run): { gate: RunAccess; isNew: boolean } | null {
    const known = this.of(run.id);
    if (known !== null) return { gate: known, isNew: false };
    if (this.#ended.has(run.id) || isEnd(run.status)) return null;
    const gate = this.#create(run);
    this.#gates.set(run.id, { run, gate });
    return { gate, isNew: true };
  }

  /** A run that goes on after its end may come again. */
  begin(runId: RunId): void {
    this.#ended.delete(runId);
  }

  end(runId: RunId): void {
    const gate = this.of(runId);
    // Forgotten first: nobody is told that a run that is over has lost its servers.
    this.#gates.delete(runId);
    gate?.release();
    this.#ended.add(runId);
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }

  in(workspace: string): { run: Run; gate: RunAccess }[] {
    return [...this.#gates.values()].filter(({ run }) => run.workspace === workspace);
  }

  workspaces(): string[] {
    return [...this.#gates.values()].map(({ run }) => run.workspace);
  }

  clear(): void {
    this.#gates.clear();
  }
}

/** A hundred runs with the same trouble are one trouble. */
interface Warnings {
  say(message: string): void;
  /** From now on all of it may be said once more. */
  forget(): void;
}

function createWarnings(warn: (message: string) => void): Warnings {
  const said = new Set<string>();
  return {
    say(message) {
      if (said.has(message)) return;
      said.add(message);
      warn(message);
    },
    forget: () => said.clear(),
  };
}

const LISTS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

export interface GatewayOptions {
  configs: McpConfigs;
  pins: PinStore;
  audit: Audit;
  connect: Connect;
  /**
   * The whole environment of the run, by which the variables of a configuration are filled in, and of which a server that is
   * started for it gets a part. Asked once per run, when it needs a server.
   */
  variablesOf(run: Run): Promise<Record<string, string>>;
  /** What a run with servers of its own has in confidence beside them. */
  secretsOf?(run: Run): Promise<readonly Secret[]>;
  /** Ids of all roles of the run's workspace; absent: no role counts as missing. */
  rolesOf?(run: Run): Promise<readonly string[]>;
  clock: Clock;
  timers?: Timers;
  warn(message: string): void;
  /** `count`: how many times since it was told last. */
  onDenied?(run: Run, name: string, count: number): void;
  /** A server the run has cannot be used: for its result. Once for each server and each kind of trouble. */
  onTrouble?(runId: RunId, text: string): void;
  /** A server that the run has to itself wants something of a person, and the run's own client asks nobody. */
  onQuestion?(runId: RunId, server: string, params: Json, signal: AbortSignal): Promise<Json>;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { configs, clock, timers = realTimers } = options;
  const listeners = new Set<(runId: RunId, what: ListKind) => void>();
  const books = createPinBooks(options.pins, clock);
  /** Confirmed restrictions have a book of their own: the server may not exist, or may never have been listed. */
  const confirmed = (workspace: string, server: string) => books({ workspace, server, source: '' });
  const warnings = createWarnings(options.warn);
  const warn = warnings.say;
  const leftOut = new UnusableServers();
  const longCalls = new LongCalls(timers);
  const denialTally = new DenialCounter(timers);
  const pool = new Pool({
    connect: options.connect,
    books,
    clock,
    timers,
    warn,
    onQuestion: options.onQuestion,
    onChange(server, what) {
      for (const runId of server.users) changed(runId, [what]);
    },
    onTrouble(server, trouble, fault) {
      // Once when it turns bad: what fails over and over is one trouble.
      if (!server.isOut)
        options.warn(`${describeServerError(server.id, trouble, fault)} (${server.workspace})`);
      server.isOut = true;
      for (const runId of server.users) gates.of(runId)?.trouble(server.id, trouble, fault);
    },
  });
  const gates = new RunAccessTable(run => {
    // A run's own calls ask nobody what counts: it has to be told, however long it works.
    const letGo = hasOwnServers(run) ? () => {} : configs.keep(run.workspace);
    const gate = createRunGate({
      ...{ ...options, run, pool, leftOut, timers, warn, longCalls, denialTally, confirmed },
    });
    return {
      ...gate,
      release() {
        letGo();
        gate.release();
      },
    };
  });
  const admin = new Admin({
    configs,
    pool,
    books,
    audit: options.audit,
    clock,
    timers,
    leftOut,
    confirmed,
    onConfirmed: workspace => reconfigure(workspace),
    workspaces: () => gates.workspaces(),
  });
  let isClosed = false;
  const stopListening = configs.onChange(workspace => reconfigure(workspace));

  return {
    prepare(run) {
      gates.begin(run.id);
      gateOf(run);
    },
    viewOf(run) {
      const gate = gateOf(run);
      return gate?.hasServers() ? gate.view : null;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async release(runId) {
      gates.end(runId);
      await pool.untilEnded(runId);
    },
    async close() {
      isClosed = true;
      stopListening();
      listeners.clear();
      gates.clear();
      denialTally.flush();
      await pool.close();
    },
    status: workspace => admin.status(workspace),
    toolsOf: (workspace, roleId, roleMcp, env, roles) =>
      admin.toolsOf(workspace, roleId, roleMcp, env, roles),
    toolsOfSubagent: (directory, servers, env) => admin.toolsOfSubagent(directory, servers, env),
    knownTools: workspace => admin.knownTools(workspace),
    pending: (workspace, roles) => admin.pending(workspace, roles),
    approve: (workspace, what, roles) => admin.approve(workspace, what, roles),
  };

  /** Null: the run is over, or the gateway is. */
  function gateOf(run: Run): RunAccess | null {
    const entered = isClosed ? null : gates.enter(run);
    if (entered === null) return null;
    const { gate, isNew } = entered;
    if (!isNew) return gate;
    if (hasOwnServers(run)) {
      gate.configure(run.options.servers);
      return gate;
    }
    const inForce = configs.known(run.workspace);
    if (inForce !== null) apply(gate, inForce);
    else void configs.of(run.workspace).then(read => arrived(run, gate, read));
    return gate;
  }

  function arrived(run: Run, gate: RunAccess, inForce: ConfigInForce): void {
    // It may have ended meanwhile.
    if (gates.of(run.id) !== gate) return;
    apply(gate, inForce);
    if (inForce.config !== null) changed(run.id, LISTS);
  }

  function apply(gate: RunAccess, { config, state, warnings }: ConfigInForce): void {
    gate.configure(config);
    if (state === 'invalid')
      gate.note(
        `${config === null ? 'The MCP servers of the workspace were not available' : 'The MCP servers are those of an earlier configuration'}: ${warnings[0]} \`squad mcp lint\` says what to correct.`,
      );
  }

  function reconfigure(workspace: string): void {
    const config = configs.known(workspace)?.config ?? null;
    warnings.forget();
    leftOut.forget(workspace);
    const concerned = gates.in(workspace).filter(({ run }) => !hasOwnServers(run));
    for (const { gate } of concerned) gate.configure(config);
    pool.reconsider(workspace);
    for (const { run } of concerned) changed(run.id, LISTS);
  }

  function changed(runId: RunId, lists: readonly ListKind[]): void {
    const gate = gates.of(runId);
    if (gate === null) return;
    gate.invalidate();
    for (const what of lists) for (const listener of listeners) listener(runId, what);
  }
}
