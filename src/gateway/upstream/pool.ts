import type { Clock } from '../../base/clock.ts';
import { StartLimit } from '../../base/start-limit.ts';
import type { Timers } from '../../base/timers.ts';
import type { ServerError } from '../../core/gateway/degradation.ts';
import {
  baseEnvironment,
  type Resolution,
  type ResolvedServer,
  sourceHash,
  urlSecrets,
} from '../../core/gateway/variables.ts';
import { createRedactor, type Redactor, type Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { Json, UpstreamFault } from '../../wire/upstream/link.ts';
import { ownEnvironment } from '../access/run-servers.ts';
import type { GatewayOptions } from '../gateway.ts';
import { createInFlight, type InFlight } from './call-limit.ts';
import { Catalogue, type CatalogueOptions, type ListKind } from './catalogue.ts';
import type { Connect } from './connect.ts';
import { type ServerPins, unpinned } from './pins.ts';
import { type AskPerson, ServerQuestions } from './server-questions.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

const MAX_CALLS = { inAll: 32, ofOneRun: 8 };
/** Nobody else waits for a server that is a run's own, and a program of its model may well ask it fifty things at once. */
const MAX_OWN_CALLS = { inAll: 64, ofOneRun: 64 };

const LIST_CHANGES = new Map<string, ListKind>([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

interface PooledServerOptions {
  key: string;
  id: string;
  config: Server;
  /** One run's own, by the file that defines it. */
  isOwn: boolean;
  /** For its start; not given: as long as for a request. */
  startMs: number | undefined;
  book: ServerPins;
  redactor: Redactor;
  open: UpstreamOptions['open'];
  starts: UpstreamOptions['starts'];
  clock: UpstreamOptions['clock'];
  timers: UpstreamOptions['timers'];
  isFinal: UpstreamOptions['isFinal'];
  onChange(server: PooledServer, what: ListKind): void;
  onTrouble(server: PooledServer, trouble: ServerError, fault: string): void;
  onRefused: CatalogueOptions['onRefused'];
  askPerson: AskPerson | null;
}

/** A server with all that belongs to it: its connection, what it has, who uses it, what is under way. */
export class PooledServer {
  readonly key: string;
  readonly id: string;
  readonly instance: Server['instance'];
  readonly type: 'stdio' | 'http' | 'sse';
  readonly isOwn: boolean;
  readonly redactor: Redactor;
  readonly book: ServerPins;
  readonly upstream: Upstream;
  readonly catalogue: Catalogue;
  readonly inFlight: InFlight;
  /** Null: it is shared, so nobody can say whom it asks. */
  readonly questions: ServerQuestions | null;
  readonly users = new Set<RunId>();
  timeoutMs: number;
  cooldownMs: number;
  readonly #startMs: number | undefined;
  /** It turned bad and has not been up since. */
  isOut = false;

  constructor(options: PooledServerOptions) {
    const { config, redactor, book } = options;
    this.key = options.key;
    this.id = options.id;
    this.instance = config.instance;
    this.isOwn = options.isOwn;
    this.type = 'command' in config ? 'stdio' : config.type;
    this.timeoutMs = config.timeout;
    this.cooldownMs = config.cooldown;
    this.#startMs = options.startMs;
    this.redactor = redactor;
    this.book = book;
    this.inFlight = createInFlight(options.isOwn ? MAX_OWN_CALLS : MAX_CALLS, options.timers);
    const questions =
      config.instance === 'shared'
        ? null
        : new ServerQuestions(redactor, () => this.#stray(), options.askPerson);
    this.questions = questions;
    this.catalogue = new Catalogue(book, {
      timeoutMs: () => this.timeoutMs,
      isAlone: config.instance === 'per-agent',
      redactor,
      onChange: what => options.onChange(this, what),
      onRefused: options.onRefused,
    });
    this.upstream = new Upstream({
      timeoutMs: () => this.timeoutMs,
      startMs: () => this.startMs,
      cooldownMs: () => this.cooldownMs,
      open: options.open,
      greet: async link => {
        await this.catalogue.list(link);
        this.isOut = false;
      },
      onDown: wasUp => {
        this.catalogue.withdraw();
        const { health, fault } = this.upstream.condition;
        options.onTrouble(this, wasUp ? 'lost' : health === 'cooling' ? 'failing' : 'absent', fault ?? '');
      },
      onNotification: (method, params) => this.#noted(method, params),
      onRequest:
        questions === null ? undefined : (method, params, signal) => questions.ask(method, params, signal),
      isWanted: () => this.users.size > 0,
      isFinal: options.isFinal,
      redact: redactor.text,
      starts: options.starts,
      clock: options.clock,
      timers: options.timers,
    });
  }

  get startMs(): number {
    return this.#startMs ?? this.timeoutMs;
  }

  get workspace(): string {
    return this.book.key.workspace;
  }

  /** What is pinned of it is known at once; then it is started. Settles, never rejects, when it is up or known not to be. */
  async warm(): Promise<void> {
    // A store that cannot be read makes the start fail as well, and there it is told.
    await this.catalogue.load().catch(() => {});
    await this.upstream.start();
  }

  #noted(method: string, params: Json): void {
    const what = LIST_CHANGES.get(method);
    if (what !== undefined) this.catalogue.relist(what);
    else if (method === 'notifications/message' && this.questions !== null)
      this.questions.tell(method, params);
    else this.#stray();
  }

  #stray(): void {
    this.upstream.stray += 1;
  }
}

const STARTS_AT_ONCE = 4;
const UNUSED_MS = 60_000;
const FOR_A_PERSON = new Set([
  'COMMAND_NOT_FOUND',
  'COMMAND_NOT_EXECUTABLE',
  'FOLDER_NOT_FOUND',
  'EREFUSEDADDRESS',
]);

/** A server as one run wants it. */
interface Wanted {
  runId: RunId;
  workspace: string;
  id: string;
  config: Server;
  resolved: Extract<Resolution, { key: string }>;
  /** The whole environment of the run. */
  variables: Readonly<Record<string, string>>;
  /** What it may know, and nobody else, beside what its own configuration tells it. */
  secrets: readonly Secret[];
  /** It is the run's own, by the file that defines it. */
  isOwn?: boolean;
  /** For its start, if that is not as long as for a request. */
  startMs?: number | undefined;
}

interface PoolOptions {
  connect: Connect;
  books(key: ServerPins['key']): ServerPins;
  clock: Clock;
  timers: Timers;
  warn(message: string): void;
  onChange(server: PooledServer, what: ListKind): void;
  onTrouble(server: PooledServer, trouble: ServerError, fault: string): void;
  onQuestion: GatewayOptions['onQuestion'];
}

/** Every server in use, each once for all runs for which it is the same thing with the same values. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #servers = new Map<string, PooledServer>();
  readonly #unused = new Map<PooledServer, () => void>();
  readonly #ending = new Map<PooledServer, { runId: RunId | null; isGone: Promise<void> }>();
  readonly #starts: StartLimit;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#starts = new StartLimit(STARTS_AT_ONCE, options.timers);
  }

  /** The run is one of its users until it is released. */
  take(wanted: Wanted): PooledServer {
    const { runId, workspace, id, config, resolved } = wanted;
    const own = config.instance === 'per-agent' ? runId : '';
    const key = JSON.stringify([workspace, id, config.instance, own, resolved.key, sourceHash(config)]);
    let server = this.#servers.get(key);
    if (server === undefined) {
      server = this.#create(key, wanted);
      this.#servers.set(key, server);
    }
    server.timeoutMs = config.timeout;
    server.cooldownMs = config.cooldown;
    server.users.add(runId);
    this.#unused.get(server)?.();
    this.#unused.delete(server);
    return server;
  }

  /** Nobody else can use what one run had to itself; anything else may be wanted again in a moment. */
  release(server: PooledServer, runId: RunId): void {
    if (!server.users.delete(runId) || server.users.size > 0) return;
    if (server.instance === 'per-agent') this.#end(server, runId);
    else
      this.#unused.set(
        server,
        this.#options.timers.after(UNUSED_MS, () => this.#end(server)),
      );
  }

  /** The configuration has changed: what nobody has any more will not be wanted again, and what was given up may work now. */
  reconsider(workspace: string): void {
    for (const server of [...this.#servers.values()]) {
      if (server.workspace !== workspace) continue;
      if (server.users.size === 0) this.#end(server);
      else server.upstream.condition.reconsider();
    }
  }

  all(): PooledServer[] {
    return [...this.#servers.values()];
  }

  /** Settles when what this run had to itself is gone. */
  async untilEnded(runId: RunId): Promise<void> {
    const ending = [...this.#ending.values()].filter(each => each.runId === runId);
    await Promise.all(ending.map(({ isGone }) => isGone));
  }

  async close(): Promise<void> {
    const servers = [...this.all(), ...this.#ending.keys()];
    this.#servers.clear();
    for (const cancel of this.#unused.values()) cancel();
    this.#unused.clear();
    for (const server of servers) server.catalogue.dispose();
    await Promise.all(servers.map(server => server.upstream.close()));
  }

  #end(server: PooledServer, runId: RunId | null = null): void {
    this.#unused.get(server)?.();
    this.#unused.delete(server);
    this.#servers.delete(server.key);
    server.catalogue.dispose();
    // Whoever asked something of what was its own is gone too.
    const isGone = (server.isOwn ? server.upstream.close() : server.upstream.retire()).finally(() =>
      this.#ending.delete(server),
    );
    this.#ending.set(server, { runId, isGone });
  }

  #create(key: string, wanted: Wanted): PooledServer {
    const { runId, workspace, id, config, resolved, variables, secrets, isOwn = false, startMs } = wanted;
    const { connect, books, clock, timers, warn, onChange, onTrouble, onQuestion } = this.#options;
    // Of whoever was first: what it is started in makes it no other server.
    const base = isOwn ? ownEnvironment(runId, variables) : baseEnvironment(variables);
    const redactor = createRedactor([
      ...resolved.secrets,
      ...secrets,
      ...Object.values(base).flatMap(urlSecrets),
    ]);
    const server: PooledServer = new PooledServer({
      key,
      id,
      config,
      redactor,
      isOwn,
      startMs,
      book: (isOwn ? unpinned(clock) : books)({ workspace, server: id, source: sourceHash(config) }),
      open: (events, signal) =>
        connect({
          id,
          server: withBase(resolved.server, base),
          events,
          startTimeoutMs: server.startMs,
          signal,
          redact: redactor.text,
        }),
      starts: this.#starts,
      clock,
      timers,
      isFinal,
      onChange,
      onTrouble,
      askPerson: onQuestion ? (params, signal) => onQuestion(runId, id, params, signal) : null,
      onRefused: ({ name, reason }) =>
        warn(`The MCP server ${id} of ${workspace} lists ${name}, which is not handed on: ${reason}.`),
    });
    return server;
  }
}

const withBase = (server: ResolvedServer, base: Record<string, string>): ResolvedServer =>
  server.kind === 'stdio' ? { ...server, env: { ...base, ...server.env } } : server;

/** Nothing but a person can mend it: who asks is not let in, the program is not there or not to be run, the address is refused. */
function isFinal({ kind, cause }: UpstreamFault): boolean {
  return kind === 'unauthorized' || (kind === 'start' && codesIn(cause).some(code => FOR_A_PERSON.has(code)));
}

function codesIn(cause: unknown): string[] {
  if (!(cause instanceof Error)) return [];
  const code = 'code' in cause && typeof cause.code === 'string' ? [cause.code] : [];
  return [...code, ...codesIn(cause.cause)];
}

/** Servers that the last who needed them could not have as they are configured, with why: nobody connects to these. */
export class UnusableServers {
  readonly #faults = new Map<string, Map<string, string>>();

  of(workspace: string, server: string): string | null {
    return this.#faults.get(workspace)?.get(server) ?? null;
  }

  judged(workspace: string, server: string, fault: string | null): void {
    if (fault === null) {
      this.#faults.get(workspace)?.delete(server);
      return;
    }
    const faults = this.#faults.get(workspace) ?? new Map<string, string>();
    this.#faults.set(workspace, faults.set(server, fault));
  }

  /** Its configuration has changed. */
  forget(workspace: string): void {
    this.#faults.delete(workspace);
  }
}
