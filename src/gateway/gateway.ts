import type { Clock } from '../core/ports/clock.ts';
import type { Audit, Gateway, McpConfigs, PinStore } from '../core/ports/gateway.ts';
import type { RunId } from '../schema/ids.ts';
import type { McpConfig } from '../schema/mcp-config.ts';
import { isEnd, type Run } from '../schema/run.ts';
import { Admin } from './admin.ts';
import type { ListKind } from './catalogue.ts';
import type { Connect } from './connect.ts';
import { createPinBooks } from './pin-book.ts';
import { Pool } from './pool.ts';
import { createRunGate, type RunGate } from './run-gate.ts';
import { realTimers, type Timers } from './timers.ts';

const LISTS: readonly ListKind[] = ['tools', 'resources', 'prompts'];
/** Runs that are over and may still be asked about; more are forgotten. */
const MOST_ENDED = 10_000;

export interface GatewayOptions {
  configs: McpConfigs;
  pins: PinStore;
  audit: Audit;
  connect: Connect;
  /** What the variables of a configuration stand for in this run. Asked once per run, when it needs a server. */
  variablesOf(run: Run): Promise<Record<string, string>>;
  /** What every server that is started gets beside its own `env`. */
  baseEnvironment(): Record<string, string>;
  clock: Clock;
  timers?: Timers;
  warn(message: string): void;
  onDenied?(run: Run, name: string): void;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { configs, clock, timers = realTimers } = options;
  const gates = new Map<RunId, { run: Run; gate: RunGate }>();
  const ended = new Set<RunId>();
  const listeners = new Set<(runId: RunId, what: ListKind) => void>();
  const books = createPinBooks(options.pins, clock);
  const warn = createWarnings(options.warn);
  const pool = new Pool({
    connect: options.connect,
    baseEnvironment: options.baseEnvironment,
    books,
    clock,
    timers,
    onChange(server, what) {
      for (const runId of server.users) changed(runId, [what]);
    },
  });
  const admin = new Admin({
    configs,
    pool,
    books,
    audit: options.audit,
    clock,
    timers,
    *faultsOf(workspace, server) {
      for (const { run, gate } of gates.values()) {
        const fault = run.workspace === workspace ? gate.faultOf(server) : null;
        if (fault !== null) yield fault;
      }
    },
    workspaces: () => [...gates.values()].map(({ run }) => run.workspace),
  });
  let isClosed = false;
  const stopListening = configs.onChange(workspace => reconfigure(workspace));

  return {
    prepare(run) {
      ended.delete(run.id);
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
    release(runId) {
      const known = gates.get(runId);
      // Forgotten first: nobody is told that a run that is over has lost its servers.
      gates.delete(runId);
      known?.gate.configure(null);
      ended.add(runId);
      if (ended.size > MOST_ENDED) ended.delete(ended.values().next().value!);
    },
    async close() {
      isClosed = true;
      stopListening();
      listeners.clear();
      gates.clear();
      await pool.close();
    },
    status: workspace => admin.status(workspace),
    toolsOf: (workspace, roleId, env) => admin.toolsOf(workspace, roleId, env),
    pending: workspace => admin.pending(workspace),
    approve: (workspace, what) => admin.approve(workspace, what),
  };

  /** Null: the run is over, or the gateway is. */
  function gateOf(run: Run): RunGate | null {
    const known = gates.get(run.id);
    if (known !== undefined) return known.gate;
    if (isClosed || ended.has(run.id) || isEnd(run.status)) return null;
    const gate = createRunGate({ ...options, run, pool, timers, warn: warn.say });
    gates.set(run.id, { run, gate });
    const inForce = configs.known(run.workspace);
    if (inForce !== null) gate.configure(inForce.config);
    else void configs.of(run.workspace).then(({ config }) => arrived(run, gate, config));
    return gate;
  }

  function arrived(run: Run, gate: RunGate, config: McpConfig | null): void {
    // It may have ended meanwhile.
    if (config === null || gates.get(run.id)?.gate !== gate) return;
    gate.configure(config);
    changed(run.id, LISTS);
  }

  function reconfigure(workspace: string): void {
    const config = configs.known(workspace)?.config ?? null;
    warn.forget();
    for (const { run, gate } of gates.values()) if (run.workspace === workspace) gate.configure(config);
    pool.reconsider(workspace);
    for (const { run } of gates.values()) if (run.workspace === workspace) changed(run.id, LISTS);
  }

  function changed(runId: RunId, lists: readonly ListKind[]): void {
    const known = gates.get(runId);
    if (known === undefined) return;
    known.gate.invalidate();
    for (const what of lists) for (const listener of listeners) listener(runId, what);
  }
}

/** A hundred runs with the same trouble are one trouble. */
function createWarnings(warn: (message: string) => void): { say(message: string): void; forget(): void } {
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
