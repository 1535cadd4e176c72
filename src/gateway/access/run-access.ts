import type { Clock } from '../../base/clock.ts';
import type { Timers } from '../../base/timers.ts';
import { waitAtMost } from '../../base/timers.ts';
import { danglingNote } from '../../core/gateway/dangling-references.ts';
import { describeServerError, type ServerError } from '../../core/gateway/degradation.ts';
import { unmatchedNote } from '../../core/gateway/grants.ts';
import { parseExposedUri, readExposedName } from '../../core/gateway/tool-names.ts';
import { decision } from '../../core/policy.ts';
import type { Audit, Definition, ForwardedRequest, GatewayView } from '../../core/ports/gateway.ts';
import type { Secret } from '../../redaction/redactor.ts';
import { SquadError, toolError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import type { Json } from '../../wire/upstream/link.ts';
import type { LongCalls } from '../upstream/call-limit.ts';
import type { ServerPins } from '../upstream/pins.ts';
import type { Pool, UnusableServers } from '../upstream/pool.ts';
import { CallAudit } from './call-audit.ts';
import { type DenialCounter, Denials } from './denials.ts';
import {
  completion,
  ForwardedError,
  type ForwardOptions,
  forward,
  promptGet,
  resourceRead,
  ServerUnavailable,
  toolCall,
} from './forward.ts';
import { Finder, Offers } from './offers.ts';
import { faultOf, hasOwnServers, ownStartMs, type RunServer, RunServers, Standing } from './run-servers.ts';

/** How long a list waits for servers nobody has seen yet. */
const LIST_TIMEOUT_MS = 5_000;

/** The lists of one run. Each waits a moment for what nobody can know yet; what comes later is told with a change notice. */
class RunLists {
  readonly #servers: RunServers;
  readonly #offers: Offers;
  readonly #timers: Timers;
  readonly #isOwn: boolean;

  /** `isOwn`: the servers are the run's own. It is made of them, so it is told what there is when all of them are there, or why one is not. */
  constructor(servers: RunServers, offers: Offers, timers: Timers, isOwn = false) {
    this.#servers = servers;
    this.#offers = offers;
    this.#timers = timers;
    this.#isOwn = isOwn;
  }

  async tools(): Promise<Definition[]> {
    await this.#settled(({ pooled }) => pooled?.catalogue.isKnown === false);
    if (this.#isOwn) {
      for (const server of this.#servers.list) refuseFaulty(server);
      refuseUnmatched(this.#servers);
    }
    return this.#offers.shown('tools');
  }

  async resources(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#offers.shown('resources');
  }

  async templates(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#offers.shown('templates');
  }

  async prompts(): Promise<Definition[]> {
    await this.#settled(isUnlisted('prompts'));
    return this.#offers.shown('prompts');
  }

  async #settled(isUnknown: (server: RunServer) => boolean): Promise<void> {
    const servers = this.#servers;
    if (servers.isReady && !servers.list.some(isUnknown)) return;
    const all = servers.ready().then(async () => {
      await Promise.all(servers.list.map(({ pooled }) => pooled?.catalogue.load().catch(() => {})));
      await Promise.all(servers.list.filter(isUnknown).map(({ pooled }) => pooled?.upstream.start()));
    });
    // Each has its own time to start in.
    await (this.#isOwn ? all : waitAtMost(this.#timers, LIST_TIMEOUT_MS, all));
  }
}

/** All in one: of what a list is refused with, an agent gets only the message. */
function refuseFaulty(server: RunServer): void {
  const fault = faultOf(server);
  if (fault === null) return;
  const { id, pooled } = server;
  const what = `The MCP server ${id} (${shown(server)}) cannot be used: ${fault.replace(/(?<![.!?])$/, '.')}`;
  const isLate = pooled?.upstream.condition.faultKind === 'timeout';
  const next = `Put \`mcpServers.${id}\` of the subagent's file right, or take it out${isLate ? '; if it needs longer to start, give it a `timeout` in seconds' : ''}.`;
  throw new SquadError('SPAWN_FAILED', `${what} ${next}`);
}

/** Nobody can confirm an entry of a subagent's file but whoever writes the file. */
function refuseUnmatched(servers: RunServers): void {
  const wrong = servers.unmatched().find(({ entry }) => entry.takesAway);
  if (wrong === undefined) return;
  const { server, entry, where } = wrong.entry;
  const has = [...wrong.known].sort().slice(0, MAX_NAMES).join(', ') || 'none';
  throw new SquadError(
    'SPAWN_FAILED',
    `\`${where}\` of the subagent's file names "${entry}", and the MCP server ${server} has no such tool. Its tools: ${has}. Correct the name, or take it out.`,
  );
}

const MAX_NAMES = 30;
const MAX_COMMAND_LENGTH = 120;

/** As its file says it, without the values of variables. */
function shown({ config, pooled }: RunServer): string {
  const written = 'command' in config ? [config.command, ...config.args].join(' ') : config.url;
  const words = pooled?.redactor.text(written) ?? written;
  return words.length > MAX_COMMAND_LENGTH ? `${words.slice(0, MAX_COMMAND_LENGTH).toWellFormed()}…` : words;
}

const isUnlisted =
  (kind: 'resources' | 'prompts') =>
  ({ grant, pooled }: RunServer): boolean =>
    pooled?.catalogue.wasListed === false && !grant[kind].only.some(list => list.size === 0);

/** What the result of one run says of servers that it had and could not use: each once, however often it comes. */
class RunServerErrors {
  readonly #onTrouble: (text: string) => void;
  readonly #told = new Set<string>();

  constructor(onTrouble: (text: string) => void) {
    this.#onTrouble = onTrouble;
  }

  tell(server: string, trouble: ServerError, fault: string): void {
    this.note(describeServerError(server, trouble, fault), `${server} ${trouble}`);
  }

  note(text: string, key = text): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#onTrouble(text);
  }
}

const INTERNAL_ERROR = -32603;

interface RunViewOptions {
  runId: RunId;
  servers: RunServers;
  lists: RunLists;
  standing: Standing;
  denials: Denials;
  finder: Finder;
  forwarding: ForwardOptions;
}

/** What one run has of other servers. */
class RunView implements GatewayView {
  readonly #options: RunViewOptions;

  constructor(options: RunViewOptions) {
    this.#options = options;
  }

  tools(): Promise<Definition[]> {
    return this.#options.lists.tools();
  }

  resources(): Promise<Definition[]> {
    return this.#options.lists.resources();
  }

  resourceTemplates(): Promise<Definition[]> {
    return this.#options.lists.templates();
  }

  prompts(): Promise<Definition[]> {
    return this.#options.lists.prompts();
  }

  takes(name: string): boolean {
    return readExposedName(name) !== null;
  }

  isPlain(name: string): boolean {
    const server = readExposedName(name)?.server;
    return server !== undefined && this.#options.servers.of(server)?.config.instance !== 'per-agent';
  }

  notice(): string | null {
    return this.#options.standing.notice();
  }

  async call(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, servers, forwarding } = this.#options;
    try {
      const found = await finder.named('tools', name, request.signal);
      if (found === null) return denials.deny('tool', name, readExposedName(name));
      const { server, own } = found;
      const args = params.arguments;
      const thing = { kind: 'tool' as const, server: server.id, name: own, isApproved: true, args };
      const may = decision(servers.holder, 'use', thing);
      if (!may.allowed) {
        const refusal = denials.denyCall(name, { server: server.id, own }, may);
        return refusal === null ? null : this.#failed(name, new SquadError('NOT_ALLOWED', refusal));
      }
      return await forward(forwarding, toolCall(found, params), request);
    } catch (error) {
      if (error instanceof ServerUnavailable)
        return this.#failed(name, new SquadError('SERVER_UNAVAILABLE', error.message));
      throw error;
    }
  }

  /** As text alone: structured content would have to fit the schema of the server's tool. */
  #failed(tool: string, error: SquadError): Json {
    const text = JSON.stringify(toolError(error.toShape(), tool, this.#options.runId));
    return { content: [{ type: 'text', text }], isError: true };
  }

  readResource(uri: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    return asError(async () => {
      const found = await finder.resource(uri, request.signal);
      if (found === null) return denials.deny('resource', uri, ownOf(uri));
      return await forward(forwarding, resourceRead(found, params), request);
    });
  }

  getPrompt(name: string, params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    return asError(async () => {
      const found = await finder.named('prompts', name, request.signal);
      if (found === null) return denials.deny('prompt', name, readExposedName(name));
      return await forward(forwarding, promptGet(found, params), request);
    });
  }

  complete(params: Json, request: ForwardedRequest): Promise<Json | null> {
    const { finder, denials, forwarding } = this.#options;
    const ref = (params.ref ?? {}) as Json;
    const asked = String(ref.name ?? ref.uri ?? '');
    return asError(async () => {
      const found = await finder.reference(ref, request.signal);
      if (found === null) return denials.deny('completion', asked, readExposedName(asked) ?? ownOf(asked));
      if (!found.pooled.upstream.link?.capabilities.completions) return { completion: { values: [] } };
      return await forward(forwarding, completion(found, params, ref), request);
    });
  }
}

function ownOf(uri: string): { server: string; own: string } | null {
  const asked = parseExposedUri(uri);
  return asked && { server: asked.server, own: asked.uri };
}

/** Only a tool's result can say in itself that something went wrong. */
async function asError(ask: () => Promise<Json | null>): Promise<Json | null> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof ServerUnavailable ? new ForwardedError(INTERNAL_ERROR, error.message) : error;
  }
}

interface RunGateOptions {
  run: Run;
  pool: Pool;
  leftOut: UnusableServers;
  audit: Audit;
  clock: Clock;
  timers: Timers;
  variablesOf(run: Run): Promise<Record<string, string>>;
  secretsOf?(run: Run): Promise<readonly Secret[]>;
  rolesOf?(run: Run): Promise<readonly string[]>;
  confirmed(workspace: string, server: string): ServerPins;
  warn(message: string): void;
  longCalls: LongCalls;
  denialTally: DenialCounter;
  /** `count`: how many times since it was told last. */
  onDenied?(run: Run, name: string, count: number): void;
  onTrouble?(runId: RunId, text: string): void;
}

/** All that belongs to one run at the gateway. */
export interface RunAccess {
  readonly view: GatewayView;
  /** Whether it has any server at all. */
  hasServers(): boolean;
  /** From the next question on this counts; its servers are started, or, if they are its own, when they are asked for. */
  configure(config: McpConfig | null): void;
  /** What was worked out for a list is worked out anew. */
  invalidate(): void;
  /** For the result of the run. */
  note(text: string): void;
  /** One of its servers is out of order. */
  trouble(server: string, trouble: ServerError, fault: string): void;
  /** The run is over. */
  release(): void;
}

export function createRunGate(options: RunGateOptions): RunAccess {
  const { run, pool, leftOut, clock, timers, warn } = options;
  const isOwn = hasOwnServers(run);
  const root = isOwn ? run.directory : run.workspace;
  const troubles = new RunServerErrors(text => options.onTrouble?.(run.id, text));
  const servers = new RunServers({
    runId: run.id,
    workspace: run.workspace,
    roleId: run.roleId,
    roleMcp: run.options.mcp,
    roots: { WORKSPACE_ROOT: run.worktree?.workspace ?? root, SQUAD_ROOT: root },
    isOwn,
    ...(isOwn && { startMs: (id: string) => ownStartMs(run.options.servers, id) }),
    pool,
    variables: () => options.variablesOf(run),
    secrets: async () => (isOwn ? ((await options.secretsOf?.(run)) ?? []) : []),
    ...(!isOwn && {
      ...(options.rolesOf && { roles: () => options.rolesOf!(run) }),
      confirmed: (server: string) => options.confirmed(run.workspace, server),
    }),
    onJudged(id, fault) {
      if (isOwn) return;
      leftOut.judged(run.workspace, id, fault);
      if (fault !== null) warn(`The MCP server ${id} of ${run.workspace} is left out: ${fault}.`);
    },
  });
  const offers = new Offers(servers, name =>
    warn(
      `Two tools of the MCP servers of ${run.workspace} would both be called ${name}: neither is offered.`,
    ),
  );
  const audit = new CallAudit(options.audit, run, options.longCalls);
  const hasOwnTools = run.options.tools === null || run.options.tools.length > 0;
  const standing = new Standing(servers, offers, clock, hasOwnTools);
  const view = new RunView({
    runId: run.id,
    servers,
    lists: new RunLists(servers, offers, timers, isOwn),
    standing,
    denials: new Denials({
      runId: run.id,
      servers,
      audit,
      tally: options.denialTally,
      onDenied: (name, count) => options.onDenied?.(run, name, count),
    }),
    finder: new Finder({ servers, offers, standing, audit }),
    forwarding: {
      ...{ runId: run.id, audit, clock },
      describe: ({ id }, fault) => standing.unavailable(id, fault),
    },
  });

  return {
    view,
    hasServers: () => servers.list.length + servers.disabled.length > 0,
    configure(config) {
      servers.configure(config);
      offers.invalidate();
      if (!isOwn) void warm();
    },
    invalidate() {
      offers.invalidate();
      noteUnmatched();
    },
    note: text => troubles.note(text),
    trouble: (server, trouble, fault) => troubles.tell(server, trouble, fault),
    release: () => servers.release(),
  };

  function noteUnmatched(): void {
    for (const { entry, known } of servers.unmatched())
      troubles.note(unmatchedNote(entry, known, run.roleId));
  }

  async function warm(): Promise<void> {
    await servers.ready();
    offers.invalidate();
    noteUnmatched();
    for (const note of servers.unknownServers()) troubles.note(note);
    for (const reference of servers.dangling()) troubles.note(danglingNote(reference, run.roleId));
    for (const { server, fault } of servers.disabled) troubles.tell(server, 'absent', fault);
    for (const server of servers.list) {
      // Others may have found out before.
      const fault = faultOf(server);
      if (fault !== null) troubles.tell(server.id, 'absent', fault);
      void server.pooled?.warm();
    }
  }
}
