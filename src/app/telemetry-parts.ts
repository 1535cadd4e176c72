import { hubName } from '../core/hub/cluster-problems.ts';
import type { AuditEntry } from '../core/ports/gateway.ts';
import type { Store } from '../core/ports/store.ts';
import type { Executor } from '../core/ports/turns.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

interface TelemetryPorts {
  env: Record<string, string | undefined>;
  version: string;
  store: Pick<Store, 'run' | 'turns' | 'onEvents' | 'listHubs'>;
  /** Name of this hub among those of its database. Null if it has the database alone. */
  hub: string | null;
  /** Environment of a run that has not ended. */
  environment(id: RunId): Promise<Record<string, string>>;
  liveRuns(): Run[];
  warn(message: string, cause?: unknown): void;
}

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
];

/**
 * OpenTelemetry is loaded at once when an OTLP endpoint is set. Otherwise it is loaded at the first scrape, and
 * counts from then on.
 */
export function lazyTelemetry({ env, version, store, hub, environment, liveRuns, warn }: TelemetryPorts) {
  const sends = env.OTEL_SDK_DISABLED !== 'true' && ENDPOINTS.some(name => env[name]);
  /** The `traceparent` header of each run that has not ended. */
  const parents = new Map<RunId, string>();
  let loading: Promise<Telemetry | null> | null = null;
  let unsubscribe = () => {};

  /** Null when OpenTelemetry cannot be loaded or set up. No run may fail because of that. */
  function load(): Promise<Telemetry | null> {
    loading ??= import('../telemetry/telemetry.ts')
      .then(({ createTelemetry }) =>
        createTelemetry({
          version,
          sends,
          run: async id => liveRuns().find(run => run.id === id) ?? store.run(id),
          turns: id => store.turns(id),
          parentOf: id => parents.get(id) ?? null,
          running() {
            const queued = liveRuns().filter(({ status }) => status === 'queued').length;
            return { running: liveRuns().length - queued, queued };
          },
          hub,
          hubs: async () => (await store.listHubs()).map(each => ({ ...each, name: hubName(each) })),
          onRunReported: id => parents.delete(id),
          warn,
        }),
      )
      .catch(thrown => {
        warn('Telemetry is off', thrown);
        return null;
      });
    return loading;
  }

  function listen(): void {
    unsubscribe = store.onEvents(events => void load().then(telemetry => telemetry?.events(events)));
  }
  if (sends) listen();

  const remember = (id: RunId, env: Record<string, string>) => {
    if (env.TRACEPARENT !== undefined) parents.set(id, env.TRACEPARENT);
  };

  return {
    /** Makes each run the parent of the spans that its agent reports. */
    traced(executor: Executor): Executor {
      if (!sends) return executor;
      return {
        ...executor,
        async start(turn, options) {
          const { command, runId } = turn;
          remember(runId, command.env);
          const run = liveRuns().find(({ id }) => id === runId);
          const TRACEPARENT = run && (await (await load())?.traceparentFor(run).catch(() => undefined));
          const traced = TRACEPARENT ? { ...command, env: { ...command.env, TRACEPARENT } } : command;
          return executor.start({ ...turn, command: traced }, options);
        },
        async find(turn, options) {
          remember(turn.runId, await environment(turn.runId).catch(() => ({})));
          return executor.find(turn, options);
        },
      };
    },

    gatewayCall(entry: AuditEntry): void {
      if (sends || loading) void load().then(telemetry => telemetry?.gatewayCall(entry));
    },

    /** Metrics in Prometheus text format. */
    async prometheus(): Promise<string> {
      if (!sends && !loading) listen();
      const telemetry = await load();
      if (!telemetry) throw new Error('Telemetry could not be loaded');
      return telemetry.prometheus();
    },

    async close(): Promise<void> {
      unsubscribe();
      await (await loading)?.close();
    },
  };
}
