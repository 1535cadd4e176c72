import type { Clock } from '../../base/clock.ts';
import { baseEnvironment } from '../../core/gateway/base-environment.ts';
import type { Trouble } from '../../core/gateway/degradation.ts';
import type { ResolvedServer } from '../../core/gateway/resolved-server.ts';
import { type Resolution, sourceHash, urlSecrets } from '../../core/gateway/variables.ts';
import { createRedactor, type Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { UpstreamFault } from '../../wire/upstream/link.ts';
import { ownEnvironment } from '../access/own-servers.ts';
import type { GatewayOptions } from '../gateway.ts';
import { createStartLimit, type StartLimit } from '../start-limit.ts';
import type { Timers } from '../timers.ts';
import type { ListKind } from './catalogue.ts';
import type { Connect } from './connect.ts';
import { type PinBook, unpinned } from './pins.ts';
import { PooledServer } from './pooled-server.ts';

const STARTS_AT_ONCE = 4;
const UNUSED_MS = 60_000;
const FOR_A_PERSON = new Set([
  'COMMAND_NOT_FOUND',
  'COMMAND_NOT_EXECUTABLE',
  'FOLDER_NOT_FOUND',
  'EREFUSEDADDRESS',
]);

/** A server as one run wants it. */
export interface Wanted {
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

export interface PoolOptions {
  connect: Connect;
  books(key: PinBook['key']): PinBook;
  clock: Clock;
  timers: Timers;
  warn(message: string): void;
  onChange(server: PooledServer, what: ListKind): void;
  onTrouble(server: PooledServer, trouble: Trouble, fault: string): void;
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
    this.#starts = createStartLimit(STARTS_AT_ONCE, options.timers);
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
