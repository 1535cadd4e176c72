import { type Clock, realTimers, type Timers } from '../base/clock.ts';
import { describeServerError } from '../core/gateway/degradation.ts';
import type { Audit, ConfigInForce, Gateway, McpConfigs, PinStore } from '../core/ports/gateway.ts';
import type { Secret } from '../redaction/redactor.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run } from '../schema/run.ts';
import { DenialCounter } from './access/denial-counter.ts';
import { RunAccess } from './access/run-access.ts';
import { hasOwnServers } from './access/run-servers.ts';
import { createAdmin } from './admin.ts';
import { LongCalls } from './upstream/call-limit.ts';
import type { ListKind } from './upstream/catalogue.ts';
import type { Connect } from './upstream/connect.ts';
import { createPinRegistry } from './upstream/pins.ts';
import { Pool, type PoolOptions, UnusableServers } from './upstream/pool.ts';

/** Number of ended runs that are remembered, because requests about them may still arrive. */
const MAX_ENDED = 10_000;

const LISTS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

export interface GatewayOptions extends Pick<PoolOptions, 'onQuestion'> {
  configs: McpConfigs;
  pins: PinStore;
  audit: Audit;
  connect: Connect;
  /**
   * The whole environment of the run. It supplies the variables of a configuration; a server that is started for the
   * run gets a part of it. Read once per run, when the run first needs a server.
   */
  variablesOf(run: Run): Promise<Record<string, string>>;
  /** Further secrets of a run that has its own servers. */
  secretsOf?(run: Run): Promise<readonly Secret[]>;
  /** Ids of all roles of the run's workspace. If absent, roles are not checked. */
  rolesOf?(run: Run): Promise<readonly string[]>;
  clock: Clock;
  timers?: Timers;
  warn(message: string): void;
  /** `count`: number of denials since the last report. */
  onDenied?(run: Run, name: string, count: number): void;
  /** Adds a note to the run's result that a server cannot be used, once for each server and kind of error. */
  onNote?(runId: RunId, text: string): void;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { configs, clock, timers = realTimers } = options;
  const runs = new Map<RunId, RunAccess>();
  const ended = new Set<RunId>();
  const listeners = new Set<(runId: RunId, what: ListKind) => void>();
  /** Warnings that were logged. Each is logged once, even if a hundred runs have the same problem. */
  const warned = new Set<string>();
  const warn = (message: string) => {
    if (warned.has(message)) return;
    warned.add(message);
    options.warn(message);
  };
  const pins = createPinRegistry(options.pins, clock);
  const pinsOf = pins.of;
  /** Confirmed restrictions have their own pins: the server may not exist, or may never have been listed. */
  const confirmed = (workspace: string, server: string) => pinsOf({ workspace, server, source: '' });
  const unusable = new UnusableServers();
  const longCalls = new LongCalls(timers);
  const denials = new DenialCounter(timers);
  const pool = new Pool({
    connect: options.connect,
    pinsOf,
    clock,
    timers,
    warn,
    ...(options.onQuestion && { onQuestion: options.onQuestion }),
    onChange(server, what) {
      for (const runId of server.users) notify(runId, [what]);
    },
    onServerError(server, error, fault) {
      // Only the first of several failures in a row is logged.
      if (!server.isDown)
        options.warn(`${describeServerError(server.id, error, fault)} (${server.workspace})`);
      server.isDown = true;
      for (const runId of server.users) runs.get(runId)?.noteServerError(server.id, error, fault);
    },
  });
  const admin = createAdmin({
    configs,
    pool,
    pinsOf,
    audit: options.audit,
    clock,
    timers,
    unusable,
    confirmed,
    onConfirmed: workspace => reconfigure(workspace),
    workspaces: () => [...runs.values()].map(({ run }) => run.workspace),
  });
  let isClosed = false;
  const stopListening = configs.onChange(workspace => reconfigure(workspace));

  return {
    ...admin,
    reloadPins: () => pins.reload(),
    prepare(run) {
      // A run that has ended may be resumed, and then asks again.
      ended.delete(run.id);
      accessOf(run);
    },
    viewOf(run) {
      const access = accessOf(run);
      return access?.hasServers ? access : null;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async release(runId) {
      const access = runs.get(runId);
      // The run is removed first, so that nobody is notified that an ended run has lost its servers.
      runs.delete(runId);
      access?.release();
      ended.add(runId);
      if (ended.size > MAX_ENDED) ended.delete(ended.values().next().value!);
      await pool.untilEnded(runId);
    },
    async close() {
      isClosed = true;
      stopListening();
      listeners.clear();
      runs.clear();
      denials.flush();
      await pool.close();
    },
  };

  /** Access of a run to servers. Null if the run has ended, or the gateway is closed. */
  function accessOf(run: Run): RunAccess | null {
    if (isClosed) return null;
    const known = runs.get(run.id);
    if (known !== undefined) return known;
    if (ended.has(run.id) || isEnd(run.status)) return null;
    const isOwn = hasOwnServers(run);
    const access = new RunAccess({
      ...{ ...options, run, pool, unusable, timers, warn, longCalls, denials, confirmed },
      // The run's own calls do not read the configuration, so it is watched as long as the run lasts.
      onRelease: isOwn ? () => {} : configs.keep(run.workspace),
    });
    runs.set(run.id, access);
    const inForce = isOwn ? null : configs.known(run.workspace);
    if (isOwn) access.configure(run.options.servers);
    else if (inForce !== null) apply(access, inForce);
    else void configs.of(run.workspace).then(read => arrived(access, read));
    return access;
  }

  function arrived(access: RunAccess, inForce: ConfigInForce): void {
    const { id } = access.run;
    // The run may have ended while this function waited.
    if (runs.get(id) !== access) return;
    apply(access, inForce);
    if (inForce.config !== null) notify(id, LISTS);
  }

  function apply(access: RunAccess, { config, state, warnings }: ConfigInForce): void {
    access.configure(config);
    if (state === 'invalid')
      access.note(
        `${config === null ? 'The MCP servers of the workspace were not available' : 'The MCP servers are those of an earlier configuration'}: ${warnings[0]} \`squad mcp lint\` shows what to correct.`,
      );
  }

  function reconfigure(workspace: string): void {
    const config = configs.known(workspace)?.config ?? null;
    warned.clear();
    unusable.forget(workspace);
    const affected = [...runs.values()].filter(
      ({ run }) => run.workspace === workspace && !hasOwnServers(run),
    );
    for (const access of affected) access.configure(config);
    pool.reconsider(workspace);
    for (const { run } of affected) notify(run.id, LISTS);
  }

  function notify(runId: RunId, lists: readonly ListKind[]): void {
    const access = runs.get(runId);
    if (access === undefined) return;
    access.invalidate();
    for (const what of lists) for (const listener of listeners) listener(runId, what);
  }
}
