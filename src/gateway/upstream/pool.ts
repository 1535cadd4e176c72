import type { Clock, Timers } from '../../base/clock.ts';
import { StartLimit } from '../../base/limiter.ts';
import type { ServerError } from '../../core/gateway/degradation.ts';
import {
  baseEnvironment,
  type Resolution,
  type ResolvedServer,
  sourceHash,
  urlSecrets,
} from '../../core/gateway/variables.ts';
import { SERVER_OF_VARIABLE } from '../../process/table/process-info.ts';
import { createRedactor, type Redactor, type Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { Json, UpstreamFault } from '../../wire/upstream/link.ts';
import { createInFlight, type InFlight } from './call-limit.ts';
import { Catalogue, type ListKind } from './catalogue.ts';
import type { Connect } from './connect.ts';
import { createOpenPins, type ServerPins } from './pins.ts';
import { ServerQuestions } from './server-questions.ts';
import { Upstream } from './upstream.ts';

const MAX_CALLS = { inAll: 32, ofOneRun: 8 };
/**
 * Limits for a run's own server. Higher than for a shared server: nobody else waits for it, and a program that its
 * model wrote may make fifty calls at once.
 */
const MAX_OWN_CALLS = { inAll: 64, ofOneRun: 64 };
const MAX_STARTS = 4;
/** How long a shared server is kept while no run uses it. */
const UNUSED_MS = 60_000;

const LIST_CHANGES = new Map<string, ListKind>([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

/** A server that one run needs, with the run's variables and secrets. */
export interface WantedServer {
  runId: RunId;
  workspace: string;
  id: string;
  config: Server;
  resolved: Extract<Resolution, { key: string }>;
  /** The whole environment of the run. */
  variables: Readonly<Record<string, string>>;
  /** Further secrets that only this server may see, in addition to those of its configuration. */
  secrets: readonly Secret[];
  /** True if the server is the run's own, from a subagent's file. */
  isOwn: boolean;
  /** Start timeout (default: the timeout of a request). */
  startMs: number | undefined;
}

export interface PoolOptions {
  connect: Connect;
  pinsOf(key: ServerPins['key']): ServerPins;
  clock: Clock;
  timers: Timers;
  warn(message: string): void;
  onChange(server: PooledServer, what: ListKind): void;
  onServerError(server: PooledServer, error: ServerError, fault: string): void;
  /** Asks a person when the server of a single run needs input that the run's client cannot give. */
  onQuestion?(runId: RunId, server: string, params: Json, signal: AbortSignal): Promise<Json>;
}

/** A server with its connection, its definitions, its users and the calls in flight. */
export class PooledServer {
  readonly key: string;
  readonly id: string;
  readonly isOwn: boolean;
  readonly redactor: Redactor;
  readonly pins: ServerPins;
  readonly upstream: Upstream;
  readonly catalogue: Catalogue;
  readonly inFlight: InFlight;
  /**
   * Questions of the server to its client. Null for a shared server, because nobody knows which client such a
   * question is for.
   */
  readonly questions: ServerQuestions | null;
  readonly users = new Set<RunId>();
  /** The latest configuration: timeout and cool-down may change. */
  config: Server;
  /** True if the server has failed and has not been up since. */
  isDown = false;

  constructor(key: string, wanted: WantedServer, starts: StartLimit, options: PoolOptions) {
    const { runId, workspace, id, config, resolved, variables, secrets, isOwn, startMs } = wanted;
    const { connect, clock, timers, onQuestion } = options;
    this.key = key;
    this.id = id;
    this.isOwn = isOwn;
    this.config = config;
    // A shared server gets the basic environment of the first run that needed it, because it can serve runs with
    // other environments.
    const base = isOwn ? { ...variables, [SERVER_OF_VARIABLE]: runId } : baseEnvironment(variables);
    const redactor = createRedactor([
      ...resolved.secrets,
      ...secrets,
      ...Object.values(base).flatMap(urlSecrets),
    ]);
    this.redactor = redactor;
    const pinKey = { workspace, server: id, source: sourceHash(config) };
    this.pins = isOwn ? createOpenPins(pinKey, clock) : options.pinsOf(pinKey);
    this.inFlight = createInFlight(isOwn ? MAX_OWN_CALLS : MAX_CALLS, timers);
    const questions =
      config.instance === 'shared'
        ? null
        : new ServerQuestions(
            redactor,
            () => this.#countStray(),
            onQuestion ? (params, signal) => onQuestion(runId, id, params, signal) : null,
          );
    this.questions = questions;
    this.catalogue = new Catalogue(this.pins, {
      timeoutMs: () => this.timeoutMs,
      isAlone: config.instance === 'per-agent',
      redactor,
      onChange: what => options.onChange(this, what),
      onRejected: ({ name, reason }) =>
        options.warn(`The MCP server ${id} of ${workspace} lists ${name}, which is rejected: ${reason}.`),
    });
    this.upstream = new Upstream({
      timeoutMs: () => this.timeoutMs,
      startMs: () => startMs ?? this.timeoutMs,
      cooldownMs: () => this.config.cooldown,
      open: (events, signal) =>
        connect({
          id,
          server: withBase(resolved.server, base),
          events,
          startTimeoutMs: startMs ?? this.timeoutMs,
          signal,
          redact: redactor.text,
        }),
      prepare: async link => {
        await this.catalogue.list(link);
        this.isDown = false;
      },
      onDown: wasUp => {
        this.catalogue.withdraw();
        const { health, fault } = this.upstream;
        const error = wasUp ? 'lost' : health === 'cooling' ? 'failing' : 'absent';
        options.onServerError(this, error, fault ?? '');
      },
      onNotification: (method, params) => this.#onNotification(method, params),
      onRequest:
        questions === null ? undefined : (method, params, signal) => questions.ask(method, params, signal),
      isWanted: () => this.users.size > 0,
      isFinal,
      redact: redactor.text,
      starts,
      clock,
      timers,
    });
  }

  get timeoutMs(): number {
    return this.config.timeout;
  }

  get workspace(): string {
    return this.pins.key.workspace;
  }

  /** Loads the pins, then starts the server. Resolves when it is up or has failed. Never rejects. */
  async warm(): Promise<void> {
    // If the store cannot be read, the start fails too and reports the error.
    await this.catalogue.load().catch(() => {});
    await this.upstream.start();
  }

  #onNotification(method: string, params: Json): void {
    const what = LIST_CHANGES.get(method);
    if (what !== undefined) this.catalogue.relist(what);
    else if (method === 'notifications/message' && this.questions !== null)
      this.questions.tell(method, params);
    else this.#countStray();
  }

  #countStray(): void {
    this.upstream.stray += 1;
  }
}

/** Every server in use. Runs that need the same server with the same values share one. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #starts: StartLimit;
  readonly #servers = new Map<string, PooledServer>();
  /** Servers without users, each with a function that cancels its scheduled stop. */
  readonly #unused = new Map<PooledServer, () => void>();
  readonly #ending = new Map<PooledServer, { runId: RunId | null; isGone: Promise<void> }>();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#starts = new StartLimit(MAX_STARTS, options.timers);
  }

  /** Makes the run a user of the server until `release`. */
  take(wanted: WantedServer): PooledServer {
    const { runId, workspace, id, config, resolved } = wanted;
    const owner = config.instance === 'per-agent' ? runId : '';
    const key = JSON.stringify([workspace, id, config.instance, owner, resolved.key, sourceHash(config)]);
    const server = this.#servers.get(key) ?? new PooledServer(key, wanted, this.#starts, this.#options);
    this.#servers.set(key, server);
    server.config = config;
    server.users.add(runId);
    this.#keep(server);
    return server;
  }

  /**
   * A run's own server stops at once, because nobody else can use it; a shared one stays for a while, because another
   * run may need it soon.
   */
  release(server: PooledServer, runId: RunId): void {
    if (!server.users.delete(runId) || server.users.size > 0) return;
    if (server.config.instance === 'per-agent') this.#end(server, runId);
    else
      this.#unused.set(
        server,
        this.#options.timers.after(UNUSED_MS, () => this.#end(server)),
      );
  }

  /**
   * After a change of the configuration: stops servers without users, and lets servers that were given up try again.
   */
  reconsider(workspace: string): void {
    for (const server of this.all()) {
      if (server.workspace !== workspace) continue;
      if (server.users.size === 0) this.#end(server);
      else server.upstream.reconsider();
    }
  }

  all(): PooledServer[] {
    return [...this.#servers.values()];
  }

  /** Resolves when the run's own servers have stopped. */
  async untilEnded(runId: RunId): Promise<void> {
    const ending = [...this.#ending.values()].filter(each => each.runId === runId);
    await Promise.all(ending.map(({ isGone }) => isGone));
  }

  async close(): Promise<void> {
    const servers = [...this.all(), ...this.#ending.keys()];
    this.#servers.clear();
    for (const server of servers) {
      this.#keep(server);
      server.catalogue.dispose();
    }
    await Promise.all(servers.map(server => server.upstream.close()));
  }

  /** Cancels the scheduled stop of an unused server. */
  #keep(server: PooledServer): void {
    this.#unused.get(server)?.();
    this.#unused.delete(server);
  }

  #end(server: PooledServer, runId: RunId | null = null): void {
    this.#keep(server);
    this.#servers.delete(server.key);
    server.catalogue.dispose();
    // Calls of a run's own server need not finish, because their only caller is gone.
    const isGone = (server.isOwn ? server.upstream.close() : server.upstream.retire()).finally(() =>
      this.#ending.delete(server),
    );
    this.#ending.set(server, { runId, isGone });
  }
}

const withBase = (server: ResolvedServer, base: Record<string, string>): ResolvedServer =>
  server.kind === 'stdio' ? { ...server, env: { ...base, ...server.env } } : server;

const FINAL_CODES = new Set([
  'COMMAND_NOT_FOUND',
  'COMMAND_NOT_EXECUTABLE',
  'FOLDER_NOT_FOUND',
  'EREFUSEDADDRESS',
]);

/**
 * Faults that only a person can fix: the login is refused, the program is missing or not executable, or the address is
 * not allowed.
 */
function isFinal({ kind, cause }: UpstreamFault): boolean {
  return kind === 'unauthorized' || (kind === 'start' && codesIn(cause).some(code => FINAL_CODES.has(code)));
}

function codesIn(cause: unknown): string[] {
  if (!(cause instanceof Error)) return [];
  const code = 'code' in cause && typeof cause.code === 'string' ? [cause.code] : [];
  return [...code, ...codesIn(cause.cause)];
}

/**
 * Servers that could not be used as configured when a run last needed them, each with the reason. They have no
 * connection.
 */
export class UnusableServers {
  readonly #faults = new Map<string, Map<string, string>>();

  of(workspace: string, server: string): string | null {
    return this.#faults.get(workspace)?.get(server) ?? null;
  }

  judged(workspace: string, server: string, fault: string | null): void {
    const faults = this.#faults.get(workspace) ?? new Map<string, string>();
    if (fault === null) faults.delete(server);
    else this.#faults.set(workspace, faults.set(server, fault));
  }

  /** Called when the configuration of the workspace has changed. */
  forget(workspace: string): void {
    this.#faults.delete(workspace);
  }
}
