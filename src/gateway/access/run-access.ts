import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Timers, waitAtMost } from '../../base/clock.ts';
import { danglingNote, runsOf } from '../../core/gateway/dangling-references.ts';
import {
  describeServerError,
  type ServerError,
  startNotice,
  type UnavailableServer,
  unavailableText,
} from '../../core/gateway/degradation.ts';
import { type Thing, unmatchedNote } from '../../core/gateway/grants.ts';
import { exposedName, parseExposedUri, readExposedName } from '../../core/gateway/tool-names.ts';
import { allowed, decision } from '../../core/policy.ts';
import type { Definition, ForwardedRequest, GatewayView } from '../../core/ports/gateway.ts';
import { SquadError, toolError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';
import type { GatewayOptions } from '../gateway.ts';
import { Busy, type LongCalls } from '../upstream/call-limit.ts';
import type { ServerPins } from '../upstream/pins.ts';
import type { Pool, PooledServer, UnusableServers } from '../upstream/pool.ts';
import { Unavailable } from '../upstream/upstream.ts';
import type { DenialCounter } from './denial-counter.ts';
import {
  type CallEntry,
  callEntry,
  ForwardedError,
  failureOf,
  hashOfText,
  INTERNAL_ERROR,
  progressListener,
  REQUESTS,
  type RequestKind,
  ServerUnavailable,
  withoutReservedMeta,
  withoutSecrets,
} from './forward.ts';
import {
  addedServersOf,
  faultOf,
  hasOwnServers,
  matchesUriTemplate,
  type Offer,
  type OfferKind,
  offerOf,
  ownStartMs,
  type RunServer,
  RunServers,
} from './run-servers.ts';

/** How long a list waits for servers whose definitions are not known yet. */
const LIST_TIMEOUT_MS = 5_000;
/** Maximum length of a text. Longer text is cut, because an agent would not read it and has a small context. */
const MAX_TEXT_BYTES = 200_000;
/** Maximum length of a denied name in the audit log. */
const MAX_NAME_LENGTH = 300;
/** Name in the audit log for the requests of an agent that asks for too many different names. */
const MORE_NAMES = '(more names)';
const MAX_LISTED_TOOLS = 30;
const MAX_COMMAND_LENGTH = 120;

type FromGateway =
  | 'audit'
  | 'clock'
  | 'variablesOf'
  | 'secretsOf'
  | 'rolesOf'
  | 'warn'
  | 'onDenied'
  | 'onNote';

interface RunAccessOptions extends Pick<GatewayOptions, FromGateway> {
  run: Run;
  pool: Pool;
  unusable: UnusableServers;
  timers: Timers;
  confirmed(workspace: string, server: string): ServerPins;
  longCalls: LongCalls;
  denials: DenialCounter;
  onRelease(): void;
}

/** A server that is up, and its own name for the requested tool, prompt or resource. */
interface Callee {
  server: RunServer;
  pooled: PooledServer;
  own: string;
}

/** Server and name as read from an exposed name. For a shortened name only the server is certain. */
interface Guess {
  server: string;
  own: string;
}

/** Everything that one run may do with MCP servers: its lists, its calls, and their audit entries. */
export class RunAccess implements GatewayView {
  readonly run: Run;
  readonly #options: RunAccessOptions;
  readonly #servers: RunServers;
  /** Definitions that the run may use. Computed on demand, and kept until a definition or the configuration changes. */
  readonly #offers = new Map<OfferKind, Offer>();
  readonly #lastShown = new Map<OfferKind, Definition[]>();
  /** Keys of the notes that the run's result already has. */
  readonly #noted = new Set<string>();
  readonly #isOwn: boolean;

  constructor(options: RunAccessOptions) {
    const { run, pool, unusable, warn, rolesOf } = options;
    this.run = run;
    this.#options = options;
    this.#isOwn = hasOwnServers(run);
    const root = this.#isOwn ? run.directory : run.workspace;
    this.#servers = new RunServers({
      runId: run.id,
      workspace: run.workspace,
      roleId: run.roleId,
      roleMcp: run.options.mcp,
      roots: { WORKSPACE_ROOT: run.worktree?.workspace ?? root, SQUAD_ROOT: root },
      isOwn: this.#isOwn,
      added: addedServersOf(run),
      pool,
      variables: () => options.variablesOf(run),
      ...(this.#isOwn
        ? {
            startMs: id => ownStartMs(run.options.servers, id),
            secrets: async () => (await options.secretsOf?.(run)) ?? [],
          }
        : {
            ...(rolesOf && { roles: () => rolesOf(run) }),
            confirmed: server => options.confirmed(run.workspace, server),
            onJudged(id, fault) {
              unusable.judged(run.workspace, id, fault);
              if (fault !== null) warn(`The MCP server ${id} of ${run.workspace} is left out: ${fault}.`);
            },
          }),
    });
  }

  get hasServers(): boolean {
    return this.#servers.list.length + this.#servers.disabled.length > 0;
  }

  /**
   * Uses a new configuration from the next request on. Starts the run's shared servers; the run's own servers start
   * when they are needed.
   */
  configure(config: McpConfig | null): void {
    this.#servers.configure(config);
    this.#offers.clear();
    if (!this.#isOwn) void this.#warm();
  }

  /** Call this when a server's definitions or the pins have changed. */
  invalidate(): void {
    this.#offers.clear();
    this.#noteUnmatched();
  }

  /** Adds a note to the run's result, each only once. */
  note(text: string, key = text): void {
    if (this.#noted.has(key)) return;
    this.#noted.add(key);
    this.#options.onNote?.(this.run.id, text);
  }

  noteServerError(server: string, error: ServerError, fault: string): void {
    this.note(describeServerError(server, error, fault), `${server} ${error}`);
  }

  /** Stops using the servers. Called when the run has ended. */
  release(): void {
    this.#options.onRelease();
    this.#servers.release();
  }

  async tools(): Promise<Definition[]> {
    await this.#waitForLists(({ pooled }) => pooled?.catalogue.isKnown === false);
    if (this.#isOwn) this.#refuseFaultyServers();
    return this.#offer('tools').shown;
  }

  async resources(): Promise<Definition[]> {
    await this.#waitForLists(isUnlisted('resources'));
    return this.#offer('resources').shown;
  }

  async resourceTemplates(): Promise<Definition[]> {
    await this.#waitForLists(isUnlisted('resources'));
    return this.#offer('templates').shown;
  }

  async prompts(): Promise<Definition[]> {
    await this.#waitForLists(isUnlisted('prompts'));
    return this.#offer('prompts').shown;
  }

  takes(name: string): boolean {
    return readExposedName(name) !== null;
  }

  isPlain(name: string): boolean {
    const server = readExposedName(name)?.server;
    return server !== undefined && this.#servers.of(server)?.config.instance !== 'per-agent';
  }

  notice(): string | null {
    const { list, disabled } = this.#servers;
    const hidden = (what: string) =>
      `its tools are hidden from ${runsOf(this.run.roleId)}, because a restriction names a ${what} that does not exist`;
    const dangling = new Set(list.flatMap(({ id, grant }) => (grant.dangling.length > 0 ? [id] : [])));
    const unmatched = new Set(
      this.#servers
        .unmatched()
        .flatMap(({ entry: { server, takesAway } }) => (takesAway && !dangling.has(server) ? [server] : [])),
    );
    return startNotice([
      ...disabled.map(({ server, fault }) => this.#unavailable(server, fault)),
      ...list.flatMap(server => {
        const fault = faultOf(server);
        return fault === null ? [] : [this.#unavailable(server.id, fault, server.pooled)];
      }),
      ...[...dangling].map(server => this.#unavailable(server, hidden('server or role'))),
      ...[...unmatched].map(server => this.#unavailable(server, hidden('tool'))),
    ]);
  }

  async call(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    try {
      const found = await this.#find('tools', name, request.signal);
      if (found === null) return this.#deny('tool', name, readExposedName(name));
      const { server, own } = found;
      const args = params.arguments;
      const thing = { kind: 'tool' as const, server: server.id, name: own, isApproved: true, args };
      const may = decision(this.#servers.holder, 'use', thing);
      if (may.allowed)
        return await this.#forward('tool', found, { ...params, name: own }, args ?? {}, request);
      if (may.reason !== 'argument') return this.#deny('tool', name, { server: server.id, own });
      this.#writeDenial(name, {
        ...{ server: server.id, kind: 'tool', name: own },
        ...{ decision: 'denied', outcome: 'argument_rule' },
      });
      // The agent can see the tool, so the rule may be named in the error. The value that violates the rule is not
      // repeated.
      const refusal = `The call was refused: the argument "${may.argument}" breaks the rule "${may.rule}" that is set for ${name}. The server was not asked.`;
      return this.#failedCall(name, new SquadError('NOT_ALLOWED', refusal));
    } catch (error) {
      if (error instanceof ServerUnavailable)
        return this.#failedCall(name, new SquadError('SERVER_UNAVAILABLE', error.message));
      throw error;
    }
  }

  readResource(uri: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    return asProtocolError(async () => {
      const found = await this.#findResource(uri, request.signal);
      if (found === null) return this.#deny('resource', uri, guessFromUri(uri));
      return await this.#forward('resource', found, { ...params, uri: found.own }, undefined, request);
    });
  }

  getPrompt(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    return asProtocolError(async () => {
      const found = await this.#find('prompts', name, request.signal);
      if (found === null) return this.#deny('prompt', name, readExposedName(name));
      return await this.#forward('prompt', found, { ...params, name: found.own }, params.arguments, request);
    });
  }

  complete(params: Json, request: ForwardedRequest): Promise<Json | null> {
    const ref = (params.ref ?? {}) as Json;
    const asked = String(ref.name ?? ref.uri ?? '');
    return asProtocolError(async () => {
      const found = await this.#findReference(ref, request.signal);
      if (found === null)
        return this.#deny('completion', asked, readExposedName(asked) ?? guessFromUri(asked));
      const { pooled, own } = found;
      if (!pooled.upstream.link?.capabilities.completions) return { completion: { values: [] } };
      const target = ref.type === 'ref/prompt' ? { name: own } : { uri: own };
      return await this.#forward(
        'completion',
        found,
        { ...params, ref: { ...ref, ...target } },
        undefined,
        request,
      );
    });
  }

  // Section: lists of tools, prompts and resources.

  /** Waits briefly for lists that were never read. A list that is read later causes a change notification. */
  async #waitForLists(isUnknown: (server: RunServer) => boolean): Promise<void> {
    const servers = this.#servers;
    if (servers.isReady && !servers.list.some(isUnknown)) return;
    const all = servers.ready().then(async () => {
      await Promise.all(servers.list.map(({ pooled }) => pooled?.catalogue.load().catch(() => {})));
      await Promise.all(servers.list.filter(isUnknown).map(({ pooled }) => pooled?.upstream.start()));
    });
    // A run with its own servers waits for all of them, because it has no other tools. Each server has its own start
    // timeout.
    await (this.#isOwn ? all : waitAtMost(this.#options.timers, LIST_TIMEOUT_MS, all));
  }

  #offer(kind: OfferKind): Offer {
    const known = this.#offers.get(kind);
    if (known !== undefined) return known;
    const offer = offerOf(
      kind,
      this.#servers.list,
      (server, own) => this.#isGranted(server, THINGS[kind], own),
      name =>
        this.#options.warn(
          `Two tools of the MCP servers of ${this.run.workspace} would both be called ${name}: neither is offered.`,
        ),
    );
    // Returns the same array as long as the definitions are the same.
    const last = this.#lastShown.get(kind);
    if (last?.length === offer.shown.length && last.every((each, at) => each === offer.shown[at]))
      offer.shown = last;
    this.#lastShown.set(kind, offer.shown);
    this.#offers.set(kind, offer);
    return offer;
  }

  /**
   * Throws if the run's own servers have faults. The message contains every fault, because the agent sees nothing else
   * of a refused list.
   */
  #refuseFaultyServers(): void {
    for (const server of this.#servers.list) {
      const fault = faultOf(server);
      if (fault === null) continue;
      const { id, pooled } = server;
      const what = `The MCP server ${id} (${commandOf(server)}) cannot be used: ${fault.replace(/(?<![.!?])$/, '.')}`;
      const isLate = pooled?.upstream.faultKind === 'timeout';
      const next = `Fix \`mcpServers.${id}\` in the subagent's file, or remove it${isLate ? '; if it needs longer to start, give it a `timeout` in seconds' : ''}.`;
      throw new SquadError('SPAWN_FAILED', `${what} ${next}`);
    }
    // An entry that hides tools by a wrong name makes the start fail. Nobody can approve an entry of a subagent's file,
    // only its author can correct it.
    const wrong = this.#servers.unmatched().find(({ entry }) => entry.takesAway);
    if (wrong === undefined) return;
    const { server, entry, where } = wrong.entry;
    const tools = [...wrong.known].sort().slice(0, MAX_LISTED_TOOLS).join(', ') || 'none';
    throw new SquadError(
      'SPAWN_FAILED',
      `\`${where}\` of the subagent's file names "${entry}", and the MCP server ${server} has no such tool. Its tools: ${tools}. Correct the name, or remove it.`,
    );
  }

  async #warm(): Promise<void> {
    const servers = this.#servers;
    await servers.ready();
    this.#offers.clear();
    this.#noteUnmatched();
    for (const note of servers.unknownServers()) this.note(note);
    for (const reference of servers.dangling()) this.note(danglingNote(reference, this.run.roleId));
    for (const { server, fault } of servers.disabled) this.noteServerError(server, 'absent', fault);
    for (const server of servers.list) {
      // The note is added even if another run has found this fault before.
      const fault = faultOf(server);
      if (fault !== null) this.noteServerError(server.id, 'absent', fault);
      void server.pooled?.warm();
    }
  }

  #noteUnmatched(): void {
    for (const { entry, known } of this.#servers.unmatched())
      this.note(unmatchedNote(entry, known, this.run.roleId));
  }

  // Section: text for the agent about a server that is unavailable.

  #unavailable(server: string, fault: string, pooled: PooledServer | null = null): UnavailableServer {
    const retryAt = pooled?.upstream.retryAt ?? null;
    const retryInMs = retryAt === null ? null : Math.max(0, retryAt - this.#options.clock.now());
    const { tools } = this.run.options;
    const ownTools = tools === null || tools.length > 0;
    return { server, fault, retryInMs, others: this.#otherServers(server), ownTools };
  }

  #otherServers(server: string): UnavailableServer['others'] {
    const { shown, byName } = this.#offer('tools');
    return this.#servers.list.flatMap(({ id, pooled, grant }) => {
      const health = id === server ? null : pooled?.upstream.health;
      if (health === 'up') {
        const tools = shown.filter(({ name }) => byName.get(name)!.server.id === id).map(({ name }) => name);
        return [{ server: id, tools }];
      }
      const hasAny = grant.tools.only.every(list => list.size > 0);
      return health === 'starting' && hasAny ? [{ server: id, tools: [], isStarting: true }] : [];
    });
  }

  #unavailableError(id: string, fault: string): ServerUnavailable {
    const pooled = this.#servers.of(id)?.pooled ?? null;
    return new ServerUnavailable(unavailableText(this.#unavailable(id, fault, pooled)));
  }

  /**
   * Result of a failed tool call. It contains only text, because structured content would have to match the output
   * schema of the server's tool.
   */
  #failedCall(tool: string, error: SquadError): Json {
    const text = JSON.stringify(toolError(error.toShape(), tool, this.run.id));
    return { content: [{ type: 'text', text }], isError: true };
  }

  // Section: resolving a name. Null if the run has no such thing. A server that is not up yet is waited for, because
  // its pinned definitions may have changed. Rejects with ServerUnavailable if the server cannot be started.

  async #find(kind: 'tools' | 'prompts', name: string, signal: AbortSignal): Promise<Callee | null> {
    const found = this.#offer(kind).byName.get(name);
    if (found?.server.pooled?.upstream.link) return { ...found, pooled: found.server.pooled };
    const server = found?.server ?? this.#unseenServer(kind, name);
    if (server === null) return null;
    const own = found?.own ?? readExposedName(name)!.own;
    const pooled = await this.#up(server.id, kind === 'tools' ? 'tool' : 'prompt', own, signal);
    const again = pooled && this.#offer(kind).byName.get(name);
    return again && again.server.pooled === pooled ? { ...again, pooled } : null;
  }

  async #findResource(exposed: string, signal: AbortSignal): Promise<Callee | null> {
    const asked = parseExposedUri(exposed);
    const server = asked && this.#servers.of(asked.server);
    if (!server || server.grant.resources.only.some(list => list.size === 0)) return null;
    const { uri } = asked;
    const pooled = await this.#up(server.id, 'resource', uri, signal);
    if (pooled === null) return null;
    const mayRead =
      this.#isGranted(server, 'resource', uri) ||
      pooled.catalogue.templates.some(
        ({ own }) => matchesUriTemplate(own, uri) && this.#isGranted(server, 'resource_template', own),
      );
    return mayRead ? { server, pooled, own: uri } : null;
  }

  /** The prompt or resource template whose argument is to be completed. */
  async #findReference(ref: Json, signal: AbortSignal): Promise<Callee | null> {
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string')
      return await this.#find('prompts', ref.name, signal);
    if (ref.type !== 'ref/resource' || typeof ref.uri !== 'string') return null;
    const asked = parseExposedUri(ref.uri);
    const server = asked && this.#servers.of(asked.server);
    if (!server || !this.#isGranted(server, 'resource_template', asked.uri)) return null;
    const pooled = await this.#up(server.id, 'completion', asked.uri, signal);
    return pooled?.catalogue.templates.some(({ own }) => own === asked.uri)
      ? { server, pooled, own: asked.uri }
      : null;
  }

  /** The server that the prefix of the name belongs to, if the server's list was never read. */
  #unseenServer(kind: 'tools' | 'prompts', name: string): RunServer | null {
    const guess = readExposedName(name);
    const server = guess && this.#servers.of(guess.server);
    if (!server || !this.#isGranted(server, THINGS[kind], guess.own)) return null;
    const catalogue = server.pooled?.catalogue;
    const isKnown = kind === 'tools' ? catalogue?.isKnown : catalogue?.wasListed;
    return isKnown ? null : server;
  }

  async #up(id: string, kind: RequestKind, own: string, signal: AbortSignal): Promise<PooledServer | null> {
    await this.#servers.ready();
    const server = this.#servers.of(id);
    if (server === null) return null;
    const { pooled, fault } = server;
    try {
      if (pooled === null) throw new Unavailable(fault ?? 'it cannot be used', 'unusable', null);
      await pooled.upstream.up(signal);
      return pooled;
    } catch (error) {
      const isCancelled = error instanceof UpstreamFault;
      const outcome = isCancelled ? 'cancelled' : 'unavailable';
      this.#write({ server: id, kind, name: own, decision: 'allowed', outcome });
      if (isCancelled) throw new ForwardedError(INTERNAL_ERROR, 'The request was cancelled.');
      throw this.#unavailableError(id, error instanceof Error ? error.message : String(error));
    }
  }

  #isGranted({ id }: RunServer, kind: Thing['kind'], name: string): boolean {
    return allowed(this.#servers.holder, 'use', { kind, server: id, name, isApproved: true });
  }

  // Section: forwarding requests.

  /** Sends an allowed request to its server, and logs the outcome. Rejects with ForwardedError or ServerUnavailable. */
  async #forward(
    kind: RequestKind,
    { pooled: server, own }: Callee,
    params: Json,
    args: unknown,
    request: ForwardedRequest,
  ): Promise<Json> {
    const { audit, clock } = this.#options;
    audit.check();
    const startedAt = clock.monotonic();
    const entry = callEntry(server, kind, own, args);
    const write = (how: Pick<CallEntry, 'outcome' | 'resultBytes' | 'resultHash'>) =>
      this.#write({ ...entry, ...how, durationMs: Math.round(clock.monotonic() - startedAt) });

    let result: Json;
    let json: string;
    try {
      const answer = await this.#request(server, kind, withoutReservedMeta(params), entry, request);
      ({ result, json } = withoutSecrets(answer, server));
    } catch (error) {
      const { outcome, thrown } = failureOf(server, error, fault => this.#unavailableError(server.id, fault));
      write({ outcome });
      throw thrown;
    }
    const resultBytes = Buffer.byteLength(json);
    const outcome = result.isError === true ? 'tool_error' : 'ok';
    write({ outcome, resultBytes, resultHash: hashOfText(json) });
    const textBytes = resultBytes <= MAX_TEXT_BYTES ? Number.POSITIVE_INFINITY : MAX_TEXT_BYTES;
    return REQUESTS[kind].shape(result, server.id, textBytes);
  }

  async #request(
    server: PooledServer,
    kind: RequestKind,
    params: Json,
    entry: CallEntry,
    request: ForwardedRequest,
  ): Promise<Json> {
    const { signal, client, capabilities: declared } = request;
    const { method } = REQUESTS[kind];
    const { questions, upstream } = server;
    const turn = server.inFlight.enter(this.run.id, signal, server.timeoutMs);
    if (turn !== undefined) await turn.catch(throwGaveUp);
    let over = () => {};
    try {
      if (turn !== undefined) {
        // When many clients disconnect at once, their disconnects are handled one by one, and each frees its place for
        // the next call, whose client may be gone as well. So the signal is checked only after all pending events; the
        // end of a connection takes two turns of the event loop.
        await nextTurn();
        await nextTurn();
        // The disk may have filled up during the call.
        this.#options.audit.check();
      }
      if (signal.aborted) throwGaveUp(signal.reason);
      over = this.#options.longCalls.begin(() => {
        try {
          this.#write(entry);
        } catch {
          // The error is ignored: the log keeps the entry, and reports the error to the next caller.
        }
      });
      const options = { signal, onProgress: progressListener(server, request) };
      if (questions === null) return await upstream.request(method, params, options);
      const asking = { ...options, capabilities: questions.capabilitiesFor(client, declared) };
      const ask = (round: Json) => upstream.request(method, round, asking);
      return await questions.during(client, () => questions.answered(ask, params, declared));
    } finally {
      over();
      server.inFlight.leave(this.run.id);
    }
  }

  // Section: denials. The run gets the same answer as for something that does not exist.

  #deny(kind: RequestKind, asked: string, guess: Guess | null): null {
    const own = guess && this.#ownName(kind, asked, guess);
    const { server, outcome } = this.#denialReason(kind, guess && { ...guess, own: own ?? guess.own });
    const name = (own ?? asked).slice(0, MAX_NAME_LENGTH);
    this.#writeDenial(asked.slice(0, MAX_NAME_LENGTH), { server, kind, name, decision: 'denied', outcome });
    return null;
  }

  /** Writes a denial to the audit log. Throws when the log cannot be written. */
  #writeDenial(asked: string, entry: CallEntry): void {
    const { audit, denials, onDenied } = this.#options;
    audit.check();
    const report = (name: string, entry: CallEntry) => (count: number) => {
      this.#write({ ...entry, ...(count > 1 && { count }) });
      onDenied?.(this.run, name, count);
    };
    denials.count(
      this.run.id,
      JSON.stringify([entry.kind, asked, entry.outcome]),
      report(asked, entry),
      report(MORE_NAMES, { ...entry, server: null, name: MORE_NAMES, outcome: 'unknown' }),
    );
  }

  /**
   * The server's own name for a requested thing. Null if there is no such server. A shortened name is compared with
   * the full names that it may stand for.
   */
  #ownName(kind: RequestKind, asked: string, { server, own }: Guess): string | null {
    if (!this.#servers.isKnown(server)) return null;
    const pins = kind === 'tool' ? this.#servers.of(server)?.pooled?.pins.pins : null;
    return pins?.find(({ name }) => exposedName(server, name) === asked)?.name ?? own;
  }

  #denialReason(kind: RequestKind, guess: Guess | null): { server: string | null; outcome: string } {
    if (guess === null) return { server: null, outcome: 'unknown' };
    const { server, own: name } = guess;
    const isPending =
      kind === 'tool' && this.#servers.of(server)?.pooled?.pins.pins?.some(pin => pin.name === name) === true;
    const may = decision(this.#servers.holder, 'use', {
      kind: kind === 'completion' ? 'prompt' : kind,
      server,
      name,
      isApproved: !isPending,
    });
    return { server, outcome: may.allowed ? 'unknown' : may.reason };
  }

  #write(entry: CallEntry): void {
    const { id: runId, roleId, options, workspace } = this.run;
    const subagent = options.subagent ?? undefined;
    this.#options.audit.append({ ...entry, runId, roleId, subagent, workspace });
  }
}

const THINGS = {
  tools: 'tool',
  resources: 'resource',
  templates: 'resource_template',
  prompts: 'prompt',
} as const;

const isUnlisted =
  (kind: 'resources' | 'prompts') =>
  ({ grant, pooled }: RunServer): boolean =>
    pooled?.catalogue.wasListed === false && !grant[kind].only.some(list => list.size === 0);

/** The command or URL as written in the file, with variables not replaced. */
function commandOf({ config, pooled }: RunServer): string {
  const written = 'command' in config ? [config.command, ...config.args].join(' ') : config.url;
  const text = pooled?.redactor.text(written) ?? written;
  return text.length > MAX_COMMAND_LENGTH ? `${text.slice(0, MAX_COMMAND_LENGTH).toWellFormed()}…` : text;
}

function guessFromUri(uri: string): Guess | null {
  const asked = parseExposedUri(uri);
  return asked && { server: asked.server, own: asked.uri };
}

/**
 * Converts a failure to a JSON-RPC error, for requests other than tool calls. Only the result of a tool can report a
 * failure itself.
 */
async function asProtocolError(ask: () => Promise<Json | null>): Promise<Json | null> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof ServerUnavailable ? new ForwardedError(INTERNAL_ERROR, error.message) : error;
  }
}

function throwGaveUp(reason: unknown): never {
  throw reason instanceof Busy ? reason : new UpstreamFault('cancelled', 'the caller cancelled the request');
}
