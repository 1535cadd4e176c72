import { createHash } from 'node:crypto';
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  AggregationType,
  InstrumentType,
  MeterProvider,
  MetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { AuditEntry } from '../core/ports/gateway.ts';
import type { Event } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run, Turn } from '../schema/run.ts';

export interface TelemetryPorts {
  version: string;
  /** Whether spans and metrics are sent to an OTLP endpoint, which the `OTEL_` variables of this process name. */
  sends: boolean;
  run(id: RunId): Promise<Run | null>;
  turns(id: RunId): Promise<Turn[]>;
  /** The `traceparent` that the client sent for the run. Null if there was none, or if it is no longer known. */
  parentOf(id: RunId): string | null;
  running(): { running: number; queued: number };
  /** Name of this hub among those of its database. Null if it has the database alone. */
  hub: string | null;
  /** All hubs of the database, with their runs. */
  hubs(): Promise<HubCounts[]>;
  /** Called when nothing more will be reported about the run. */
  onRunReported(id: RunId): void;
  warn(message: string, cause: unknown): void;
}

interface HubCounts {
  name: string;
  isConnected: boolean;
  running: number;
  queued: number;
}

export type Telemetry = ReturnType<typeof createTelemetry>;

/** Maximum time that a stopping hub waits for an endpoint that does not answer. */
const CLOSE_TIMEOUT_MS = 1_000;
const EXPORT_TIMEOUT_MS = 5_000;
const METRICS_EVERY_MS = 30_000;
/**
 * Maximum number of queued spans while the endpoint does not accept them. Beyond it the newest are dropped; a run never
 * waits.
 */
const MAX_QUEUED_SPANS = 4_096;
/** Buckets in seconds: those of the GenAI conventions, plus longer ones for agents. */
const DURATION_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** An endpoint that is down fails twice a minute: one line in the log is enough. */
function warnOfFirstError(warn: TelemetryPorts['warn']): void {
  let isKnown = false;
  const ignored = () => {};
  const error = (text: string) => {
    if (!isKnown) warn('Telemetry could not be sent; further failures are not logged', reasonIn(text));
    isKnown = true;
  };
  const logger = { error, warn: ignored, info: ignored, debug: ignored, verbose: ignored };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}

/** OpenTelemetry reports an error as the JSON of its fields. */
function reasonIn(text: string): string {
  try {
    return JSON.parse(text).message ?? text;
  } catch {
    return text;
  }
}

/**
 * Spans and metrics by the conventions for GenAI and MCP, made from events and audit entries that exist anyway. Span
 * ids are derived from run ids, so that a span can name a parent that another hub reported, or that has not ended yet.
 */
export function createTelemetry({ version, sends, ...ports }: TelemetryPorts) {
  if (sends) warnOfFirstError(ports.warn);
  const resource = resourceFromAttributes({
    ...{ 'service.name': 'squad', 'service.version': version },
    ...(ports.hub !== null && { [HUB]: ports.hub }),
  });
  const ids = new GivenIds();
  const tracing = sends
    ? new TracerProvider({
        resource,
        idGenerator: ids,
        spanProcessors: [
          new BatchSpanProcessor({
            exporter: new OTLPTraceExporter({ timeoutMillis: EXPORT_TIMEOUT_MS }),
            maxQueueSize: MAX_QUEUED_SPANS,
          }),
        ],
      })
    : null;
  const tracer = tracing?.getTracer('squad', version);
  const scrape = new Scrape();
  const metering = new MeterProvider({
    resource,
    readers: [
      scrape,
      ...(sends
        ? [
            new PeriodicExportingMetricReader({
              exporter: new OTLPMetricExporter({ timeoutMillis: EXPORT_TIMEOUT_MS }),
              exportIntervalMillis: METRICS_EVERY_MS,
              exportTimeoutMillis: EXPORT_TIMEOUT_MS,
            }),
          ]
        : []),
    ],
    views: [
      {
        instrumentType: InstrumentType.HISTOGRAM,
        instrumentUnit: 's',
        aggregation: {
          type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM,
          options: { boundaries: DURATION_BUCKETS },
        },
      },
    ],
  });
  const meter = metering.getMeter('squad', version);
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: 's', description });
  const agentSeconds = seconds('gen_ai.client.operation.duration', 'Runs, from their request to their end');
  const toolSeconds = seconds('mcp.server.operation.duration', "Calls of Squad's own tools");
  const serverSeconds = seconds('mcp.client.operation.duration', 'Calls of agents to other MCP servers');
  const tokens = meter.createCounter('gen_ai.client.token.usage', {
    unit: '{token}',
    description: 'Tokens, as reported by the engines',
  });
  const cost = meter.createCounter('squad.run.cost', { unit: 'USD', description: 'Cost of runs' });
  const gauge = meter.createObservableGauge('squad.runs', { description: 'Runs that have not ended' });
  gauge.addCallback(result => {
    const { running, queued } = ports.running();
    result.observe(running, { 'squad.run.state': 'running' });
    result.observe(queued, { 'squad.run.state': 'queued' });
  });

  const connected = meter.createObservableGauge('squad.hubs.connected', {
    description: 'Whether each hub of the database writes to it',
  });
  const hubRuns = meter.createObservableGauge('squad.hubs.runs', {
    description: 'Runs of each hub of the database that have not ended',
  });
  if (ports.hub !== null)
    meter.addBatchObservableCallback(
      async result => {
        for (const { name, isConnected, running, queued } of await ports.hubs()) {
          result.observe(connected, isConnected ? 1 : 0, { hub: name });
          result.observe(hubRuns, running, { hub: name, 'squad.run.state': 'running' });
          result.observe(hubRuns, queued, { hub: name, 'squad.run.state': 'queued' });
        }
      },
      [connected, hubRuns],
    );

  interface SpanData {
    name: string;
    kind?: SpanKind;
    start: number;
    end: number;
    attributes: Attributes;
    error?: string | null;
    /** Ids of the span (default: random ids, in the trace of the parent). */
    ids?: { traceId: string; spanId: string };
  }

  function span(within: Context, { name, kind, start, end, attributes, error, ids: own }: SpanData): void {
    if (!tracer) return;
    ids.next = own ?? null;
    const made = tracer.startSpan(name, { kind, startTime: start, attributes }, within);
    if (error) made.setStatus({ code: SpanStatusCode.ERROR, message: error });
    made.end(Math.max(start, end));
  }

  /**
   * The trace of a run, and the parent of its span. A run that was started by another one belongs to the trace of that
   * run.
   */
  async function traceOf(run: Run): Promise<{ traceId: string; parent: string | null; isSampled: boolean }> {
    const given = parseTraceparent(ports.parentOf(run.id));
    const parent = run.parentId === null ? (given?.spanId ?? null) : spanIdOf(run.parentId);
    if (given) return { traceId: given.traceId, parent, isSampled: given.isSampled };
    const starter = run.parentId === null ? null : await ports.run(run.parentId);
    const traceId = starter ? (await traceOf(starter)).traceId : digest(`trace ${run.id}`, 32);
    return { traceId, parent, isSampled: true };
  }

  const contextOf = (traceId: string, spanId: string, isSampled = true): Context =>
    trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId,
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      isRemote: true,
    });

  async function within(runId: RunId | null): Promise<Context> {
    const run = runId === null ? null : await ports.run(runId);
    if (!run) return ROOT_CONTEXT;
    const { traceId, isSampled } = await traceOf(run);
    return contextOf(traceId, spanIdOf(run.id), isSampled);
  }

  async function turnEnded(run: Run, turn: Turn): Promise<void> {
    span(await within(run.id), {
      name: `turn ${turn.number}`,
      start: turn.startedAt,
      end: turn.endedAt ?? turn.startedAt,
      attributes: {
        'squad.turn': turn.number,
        ...(turn.exitCode !== null && { 'process.exit.code': turn.exitCode }),
        ...(turn.pid !== null && { 'process.pid': turn.pid }),
      },
    });
  }

  async function runEnded(run: Run, at: number): Promise<void> {
    const agent = run.options.subagent ?? run.roleId ?? 'agent';
    const labels: Attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': run.engine,
      'gen_ai.agent.name': agent,
      ...(run.model !== null && { 'gen_ai.request.model': run.model }),
      'squad.run.status': run.status,
    };
    const failure = run.error?.code ?? (run.status === 'completed' ? null : run.status);
    agentSeconds.record((at - run.createdAt) / 1000, {
      ...labels,
      ...(failure !== null && { 'error.type': failure }),
    });
    const { input = null, output = null, costUsd = null } = run.usage ?? {};
    if (input !== null) tokens.add(input, { ...labels, 'gen_ai.token.type': 'input' });
    if (output !== null) tokens.add(output, { ...labels, 'gen_ai.token.type': 'output' });
    if (costUsd !== null) cost.add(costUsd, labels);

    const { traceId, parent, isSampled } = await traceOf(run);
    span(parent === null ? ROOT_CONTEXT : contextOf(traceId, parent, isSampled), {
      name: `invoke_agent ${agent}`,
      kind: SpanKind.INTERNAL,
      start: run.createdAt,
      end: at,
      ids: { traceId, spanId: spanIdOf(run.id) },
      error: failure,
      attributes: {
        ...labels,
        'gen_ai.agent.id': run.id,
        ...(run.chatId !== null && { 'gen_ai.conversation.id': run.chatId }),
        ...(input !== null && { 'gen_ai.usage.input_tokens': input }),
        ...(output !== null && { 'gen_ai.usage.output_tokens': output }),
        ...(costUsd !== null && { 'squad.run.cost_usd': costUsd }),
        ...(failure !== null && { 'error.type': failure }),
        'squad.squad.id': run.squadId,
        'squad.workspace': run.workspace,
      },
    });
  }

  /** Number of the last reported turn, for each run that has not ended. */
  const lastTurns = new Map<RunId, number>();

  async function take({ body, at, runId }: Event): Promise<void> {
    if (body.type === 'tool.called') {
      const attributes: Attributes = {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': body.tool,
        ...(body.code !== null && { 'error.type': body.code }),
      };
      toolSeconds.record(body.durationMs / 1000, attributes);
      span(await within(runId), {
        name: `tools/call ${body.tool}`,
        kind: SpanKind.SERVER,
        start: at - body.durationMs,
        end: at,
        attributes: { ...attributes, ...(body.client !== null && { 'squad.client': body.client }) },
        error: body.ok ? null : (body.code ?? 'error'),
      });
      return;
    }
    if (runId === null || (body.type !== 'run.ended' && body.type !== 'run.turn_ended')) return;
    const [run, turns] = await Promise.all([ports.run(runId), ports.turns(runId)]);
    const last = turns.at(-1);
    if (!run) return;
    // A run that ends while it waits for a review has no further turn, so its last turn is reported here.
    if (last && lastTurns.get(runId) !== last.number) await turnEnded(run, last);
    if (last) lastTurns.set(runId, last.number);
    if (body.type !== 'run.ended') return;
    await runEnded(run, at);
    lastTurns.delete(runId);
    ports.onRunReported(runId);
  }

  /**
   * Spans are made one after another, so that a burst of ended runs does not read the store faster than the hub does.
   */
  let working: Promise<void> = Promise.resolve();
  const inOrder = (act: () => Promise<void>) => {
    working = working.then(act).catch(thrown => ports.warn('A span could not be made', thrown));
  };

  return {
    events(events: readonly Event[]): void {
      for (const event of events) if (WANTED.has(event.body.type)) inOrder(() => take(event));
    },

    /** Reports an agent's call to another server, when the call has ended. */
    gatewayCall({ runId, server, kind, name, outcome, durationMs }: AuditEntry): void {
      if (durationMs === undefined) return;
      const at = Date.now();
      const method = METHODS[kind] ?? kind;
      const attributes: Attributes = {
        'mcp.method.name': method,
        ...(kind === 'tool' && { 'gen_ai.tool.name': name }),
        ...(server !== null && { 'squad.server': server }),
        ...(outcome !== 'ok' && { 'error.type': outcome }),
      };
      serverSeconds.record(durationMs / 1000, attributes);
      inOrder(async () =>
        span(await within(runId as RunId), {
          name: `${method} ${name}`,
          kind: SpanKind.CLIENT,
          start: at - durationMs,
          end: at,
          attributes,
          error: outcome === 'ok' ? null : outcome,
        }),
      );
    },

    /** Value of `TRACEPARENT`, which makes spans of the agent part of this run's trace. */
    async traceparentFor(run: Run): Promise<string> {
      const { traceId, isSampled } = await traceOf(run);
      return `00-${traceId}-${spanIdOf(run.id)}-${isSampled ? '01' : '00'}`;
    },

    async prometheus(): Promise<string> {
      await working;
      const { resourceMetrics } = await scrape.collect();
      return PROMETHEUS.serialize(resourceMetrics);
    },

    async close(): Promise<void> {
      const closed = working.then(() => Promise.all([tracing?.shutdown(), metering.shutdown()]));
      const { promise: tooLate, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      await Promise.race([closed.catch(() => {}), tooLate]); // an endpoint that is down is not reported while the hub stops
      clearTimeout(timer);
    },
  };
}

/** Attribute that names the hub in everything that it reports. */
const HUB = 'squad.hub';

/** Serialises metrics without their scope, which is the same for all of them, and with the name of the hub. */
const PROMETHEUS = new PrometheusSerializer('', false, /^squad\.hub$/, false, true);

const WANTED = new Set(['tool.called', 'run.ended', 'run.turn_ended']);

const METHODS: Record<string, string> = {
  tool: 'tools/call',
  resource: 'resources/read',
  prompt: 'prompts/get',
  completion: 'completion/complete',
};

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

const spanIdOf = (id: RunId): string => digest(`span ${id}`, 16);

interface Parent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Format: https://www.w3.org/TR/trace-context/. Null for anything else, and for ids of zeros. */
export function parseTraceparent(value: string | null): Parent | null {
  const found = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})$/.exec(value ?? '');
  if (!found || value!.startsWith('ff')) return null;
  const [, traceId, spanId, flags] = found;
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/**
 * Gives a run's span the ids of that run, and other spans random ids. Spans are created one at a time, so one field
 * for the next ids is enough.
 */
class GivenIds implements IdGenerator {
  next: { traceId: string; spanId: string } | null = null;
  private readonly random = new RandomIdGenerator();

  generateTraceId(): string {
    return this.next?.traceId ?? this.random.generateTraceId();
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.random.generateSpanId();
  }
}

class Scrape extends MetricReader {
  constructor() {
    super({ aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE });
  }
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
