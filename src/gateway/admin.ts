import type { Clock } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';
import { waitAtMost } from '../base/timers.ts';
import { danglingChanges, danglingReferences, EVERYBODY } from '../core/gateway/dangling-references.ts';
import { grantsOf, type Thing, unmatchedChanges, withKnownTools } from '../core/gateway/grants.ts';
import { exposedName, NameTable, names } from '../core/gateway/tool-names.ts';
import { sourceHash } from '../core/gateway/variables.ts';
import { decision, type UseDecision } from '../core/policy.ts';
import type {
  Audit,
  GatewayAdmin,
  McpConfigs,
  PendingChange,
  SeenTool,
  ServerFault,
  UpstreamStatus,
} from '../core/ports/gateway.ts';
import { plainText } from '../core/text.ts';
import { newRunId } from '../schema/ids.ts';
import type { DisabledServer, McpConfig, OwnServers, Server } from '../schema/mcp-config.ts';
import {
  faultOf,
  ownStartMs,
  type RunServer,
  RunServers,
  type RunServersOptions,
  subjectWithGrants,
} from './access/run-servers.ts';
import type { ServerPins } from './upstream/pins.ts';
import type { Pool, PooledServer, UnusableServers } from './upstream/pool.ts';

const INSPECT_TIMEOUT_MS = 10_000;

const REASONS: Record<Extract<UseDecision, { allowed: false }>['reason'], string> = {
  server: 'the role does not have this server',
  not_listed: "not in the server's tools",
  excluded: 'excluded for the role',
  unmatched: 'hidden: a restriction names a tool, server or role that does not exist',
  not_approved: 'pending approval',
  argument: 'an argument rule',
  ended: 'the run has ended',
};

interface Look {
  workspace: string;
  config: McpConfig;
  /** Null: nobody in particular. Then every server is looked at, and seen is what everybody has. */
  roleId: string | null;
  roleMcp: readonly string[];
  env: Record<string, string>;
  pool: Pool;
  timers: Timers;
  onJudged?: RunServersOptions['onJudged'];
  roles?: readonly string[] | undefined;
  confirmed?: RunServersOptions['confirmed'];
  /** The servers are a subagent's own, each with its time to start. */
  startMs?: RunServersOptions['startMs'];
}

/** What the servers of a role have, each with whether the role has it. What is not up is started for the look. */
async function inspectTools({
  workspace,
  config,
  roleId,
  roleMcp,
  env,
  pool,
  timers,
  onJudged,
  roles,
  confirmed,
  startMs,
}: Look): Promise<{ tools: SeenTool[]; faults: ServerFault[] }> {
  const servers = new RunServers({
    // Takes the servers as a run would, so that they are let go like a run's.
    runId: newRunId(),
    workspace,
    roleId,
    roleMcp: roleId === null ? Object.keys(config.servers) : roleMcp,
    roots: { WORKSPACE_ROOT: workspace, SQUAD_ROOT: workspace },
    pool,
    variables: async () => env,
    onJudged,
    ...(roles && { roles: async () => roles }),
    ...(confirmed && { confirmed }),
    ...(startMs && { isOwn: true, startMs }),
  });
  try {
    servers.configure(config);
    await servers.ready();
    const patienceMs = Math.max(INSPECT_TIMEOUT_MS, ...servers.list.map(({ id }) => startMs?.(id) ?? 0));
    await waitAtMost(timers, patienceMs, Promise.all(servers.list.map(({ pooled }) => pooled?.warm())));
    const known = new Map(servers.list.map(({ id, pooled }) => [id, pooled?.catalogue.knownTools ?? null]));
    const grants = grantsOf(config, roleId, roleMcp, servers.facts).map(grant =>
      withKnownTools(grant, known.get(grant.server) ?? null),
    );
    const holder = subjectWithGrants(grants, workspace);
    const look = (thing: Thing) =>
      reasonWhyNot(decision(holder, 'use', thing), thing, known.get(thing.server) ?? null, config, roleId);
    return {
      tools: withoutClashes(servers.list.flatMap(server => [...seenTools(server, look), ...refused(server)])),
      faults: [
        ...servers.disabled.map(each => ({ ...each, isStarting: false })),
        ...servers.list.flatMap(faultFound),
      ],
    };
  } finally {
    servers.release();
  }
}

/** Null: the role has it. */
function reasonWhyNot(
  may: UseDecision,
  { server, name }: Thing,
  known: ReadonlySet<string> | null,
  { servers, toolRestrictions }: McpConfig,
  roleId: string | null,
): string | null {
  if (may.allowed) return null;
  const lists = (list: readonly string[]) => list.includes('*') || names(new Set(list), server, name, known);
  if (may.reason !== 'not_listed' || !lists(servers[server]!.tools)) return REASONS[may.reason];
  const restrictions = [EVERYBODY, roleId].map(who =>
    who !== null && Object.hasOwn(toolRestrictions, who) ? toolRestrictions[who]! : {},
  );
  return restrictions.some(each => {
    const restriction = Object.hasOwn(each, server) ? each[server]! : null;
    return restriction !== null && 'include' in restriction && !lists(restriction.include);
  })
    ? "not in the role's include"
    : "not named in the role file's mcp";
}

function seenTools({ id, pooled }: RunServer, look: (thing: Thing) => string | null): SeenTool[] {
  if (pooled === null) return [];
  const usable = new Set(pooled.catalogue.tools.map(({ own }) => own));
  return pooled.catalogue.listedTools.map(({ name, description }) => {
    const reason = look({ kind: 'tool', server: id, name, isApproved: usable.has(name) });
    return {
      server: id,
      tool: name,
      name: exposedName(id, name),
      description: typeof description === 'string' ? description : '',
      isVisible: reason === null,
      reason,
    };
  });
}

const refused = ({ id, pooled }: RunServer): SeenTool[] =>
  (pooled?.catalogue.refused('tools') ?? []).map(({ name, reason }) => ({
    server: id,
    tool: name,
    name: exposedName(id, name),
    description: '',
    isVisible: false,
    reason: `not handed on: ${reason}`,
  }));

function withoutClashes(tools: SeenTool[]): SeenTool[] {
  const visible = tools.filter(({ isVisible }) => isVisible);
  const table = new NameTable(visible.map(({ server, tool }) => [server, tool]));
  if (table.clashes.length === 0) return tools;
  return tools.map(seen =>
    seen.isVisible && table.nameOf(seen.server, seen.tool) === null
      ? { ...seen, isVisible: false, reason: 'another tool would have the same name' }
      : seen,
  );
}

function faultFound(server: RunServer): ServerFault[] {
  const { id, pooled } = server;
  const fault = faultOf(server);
  if (fault !== null) return [{ server: id, fault, isStarting: false }];
  return pooled?.catalogue.isKnown === false
    ? [{ server: id, fault: 'it was not ready in time', isStarting: true }]
    : [];
}

/** A server that is in use, or was a moment ago. */
function pooledStatus({
  id,
  workspace,
  type,
  instance,
  upstream,
  catalogue,
  book,
  users,
  inFlight,
  redactor,
}: PooledServer): UpstreamStatus {
  const { link } = upstream;
  const { health, since, retryAt, fault, lastFault, failures } = upstream.condition;
  return {
    workspace,
    server: id,
    type,
    instance,
    health,
    since,
    upSince: health === 'up' ? since : null,
    retryAt,
    fault,
    lastFault,
    pid: link?.pid ?? null,
    era: link?.era ?? null,
    serverName: link ? redactor.text(plainText(link.server.name)) : null,
    tools: catalogue.isKnown ? catalogue.listedTools.length : null,
    pending: waiting(book),
    runs: users.size,
    callsInFlight: inFlight.count(),
    calls: upstream.calls,
    failures,
    stray: upstream.stray,
    restarts: Math.max(0, upstream.starts - 1),
    refused: catalogue.refused(),
  };
}

/** A server nobody uses, or that nobody can. */
function configuredStatus(
  book: ServerPins,
  server: Server,
  fault: string | null,
  now: number,
): UpstreamStatus {
  const { pins, key } = book;
  return {
    ...unusedStatus(key, now),
    type: 'command' in server ? 'stdio' : server.type,
    instance: server.instance,
    health: fault === null ? 'idle' : 'unusable',
    fault,
    tools: pins === null ? null : pins.filter(pin => pin.state === 'approved').length,
    pending: waiting(book),
  };
}

/** A server that is wrong in the file. */
const disabledStatus = (
  workspace: string,
  server: string,
  { type, fault }: DisabledServer,
  now: number,
): UpstreamStatus => ({ ...unusedStatus({ workspace, server }, now), type, health: 'unusable', fault });

function unusedStatus(
  { workspace, server }: { workspace: string; server: string },
  now: number,
): UpstreamStatus {
  return {
    workspace,
    server,
    type: 'stdio',
    instance: 'shared',
    health: 'idle',
    since: now,
    upSince: null,
    retryAt: null,
    fault: null,
    lastFault: null,
    pid: null,
    era: null,
    serverName: null,
    tools: null,
    pending: 0,
    runs: 0,
    callsInFlight: 0,
    calls: 0,
    failures: 0,
    stray: 0,
    restarts: 0,
    refused: [],
  };
}

const waiting = ({ pins }: ServerPins): number => (pins ?? []).filter(pin => pin.state === 'pending').length;

interface AdminOptions {
  configs: McpConfigs;
  pool: Pool;
  books(key: ServerPins['key']): ServerPins;
  audit: Audit;
  clock: Clock;
  timers: Timers;
  leftOut: UnusableServers;
  /** The book of restrictions for this server that were confirmed though they dangle. */
  confirmed(workspace: string, server: string): ServerPins;
  onConfirmed(workspace: string): void;
  /** Those with runs. */
  workspaces(): string[];
}

/** What people ask of the gateway. */
export class Admin implements GatewayAdmin {
  readonly #options: AdminOptions;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  async status(workspace: string | null): Promise<UpstreamStatus[]> {
    const { pool, workspaces } = this.#options;
    const all =
      workspace === null ? [...workspaces(), ...pool.all().map(server => server.workspace)] : [workspace];
    const lists = [...new Set(all)].sort().map(one => this.#statusOf(one));
    return (await Promise.all(lists)).flat();
  }

  async toolsOf(
    workspace: string,
    roleId: string | null,
    roleMcp: readonly string[],
    env: Record<string, string>,
    roles?: readonly string[],
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }> {
    const { pool, leftOut, timers } = this.#options;
    const confirmed = (server: string) => this.#options.confirmed(workspace, server);
    const config = await this.#config(workspace);
    const onJudged = (server: string, fault: string | null) => leftOut.judged(workspace, server, fault);
    const look = { workspace, config, roleId, roleMcp, env, pool, timers, onJudged, roles, confirmed };
    return await inspectTools(look);
  }

  async toolsOfSubagent(
    directory: string,
    servers: OwnServers,
    env: Record<string, string>,
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }> {
    const { pool, timers } = this.#options;
    const startMs = (id: string) => ownStartMs(servers, id);
    const own = { workspace: directory, config: servers, roleId: null, roleMcp: [], startMs };
    return await inspectTools({ ...own, env, pool, timers });
  }

  async knownTools(workspace: string): Promise<Record<string, string[]>> {
    const books = await this.#books(workspace);
    await Promise.all(books.map(book => book.load()));
    return Object.fromEntries(
      books.flatMap(({ key, pins }) =>
        pins === null ? [] : [[key.server, [...new Set(pins.map(({ name }) => name))].sort()]],
      ),
    );
  }

  async pending(workspace: string, roles?: readonly string[]): Promise<PendingChange[]> {
    const config = await this.#config(workspace);
    const books = await this.#books(workspace);
    const lists = books.map(async book => [...(await book.pending()), ...this.#unmatched(config, book)]);
    return [...(await this.#dangling(workspace, config, roles)), ...(await Promise.all(lists)).flat()];
  }

  async approve(
    workspace: string,
    { server, tool, hashes }: { server?: string; tool?: string; hashes?: readonly string[] },
    roles?: readonly string[],
  ): Promise<PendingChange[]> {
    const { audit } = this.#options;
    const config = await this.#config(workspace);
    const isMeant = (change: PendingChange) =>
      (server ?? change.server) === change.server &&
      (tool ?? change.tool) === change.tool &&
      (hashes?.includes(change.hash) ?? true);
    const dangling = (await this.#dangling(workspace, config, roles)).filter(isMeant);
    for (const change of dangling)
      await this.#options.confirmed(workspace, change.server).confirm([change.tool]);
    const approved: PendingChange[] = [...dangling];
    for (const book of await this.#books(workspace)) {
      if (server !== undefined && book.key.server !== server) continue;
      approved.push(...(await book.approve(isMeant)));
      const confirmed = this.#unmatched(config, book).filter(isMeant);
      if (confirmed.length > 0) await book.confirm(confirmed.map(change => change.tool));
      approved.push(...confirmed);
    }
    for (const change of approved)
      audit.append({
        runId: null,
        roleId: null,
        workspace,
        server: change.server,
        kind: 'approval',
        name: change.tool,
        decision: 'allowed',
        outcome: change.kind,
        resultHash: change.hash,
      });
    await audit.flush();
    if (dangling.length > 0) this.#options.onConfirmed(workspace);
    return approved;
  }

  async #statusOf(workspace: string): Promise<UpstreamStatus[]> {
    const { pool, leftOut, clock } = this.#options;
    const config = await this.#config(workspace);
    const pooled = withoutPredecessors(pool.all().filter(server => server.workspace === workspace));
    const configured = Object.entries(config.servers).filter(
      ([id]) => !pooled.some(server => server.id === id && !server.isOwn),
    );
    return [
      ...Object.entries(config.disabled ?? {}).map(([id, disabled]) =>
        disabledStatus(workspace, id, disabled, clock.now()),
      ),
      ...pooled.map(pooledStatus),
      ...(await Promise.all(
        configured.map(async ([id, server]) => {
          const book = this.#book(workspace, id, server);
          await book.load();
          return configuredStatus(book, server, leftOut.of(workspace, id), clock.now());
        }),
      )),
    ];
  }

  async #dangling(
    workspace: string,
    config: McpConfig,
    roles: readonly string[] | undefined,
  ): Promise<PendingChange[]> {
    const { confirmed, clock } = this.#options;
    const facts = { roles: roles ?? null, isConfirmed: () => false };
    const references = danglingReferences(config, facts);
    const books = new Map(references.map(({ server }) => [server, confirmed(workspace, server)]));
    await Promise.all([...books.values()].map(book => book.load()));
    const pending = references.filter(
      ({ server, place }) => !books.get(server)!.pins?.some(({ name }) => name === place),
    );
    return danglingChanges(pending, clock.now());
  }

  /** Of a book that is loaded. */
  #unmatched(config: McpConfig, { key, pins }: ServerPins): PendingChange[] {
    if (pins === null) return [];
    const known = new Set(pins.map(({ name }) => name));
    return unmatchedChanges(config, key.server, known, this.#options.clock.now());
  }

  async #books(workspace: string): Promise<ServerPins[]> {
    const { servers } = await this.#config(workspace);
    return Object.entries(servers).map(([id, server]) => this.#book(workspace, id, server));
  }

  #book(workspace: string, id: string, server: Server): ServerPins {
    return this.#options.books({ workspace, server: id, source: sourceHash(server) });
  }

  async #config(workspace: string): Promise<McpConfig> {
    const { config } = await this.#options.configs.of(workspace);
    return config ?? { servers: {}, agentServers: {}, shared: [], toolRestrictions: {}, argumentRules: [] };
  }
}

/** What nobody uses any more, and of which there is a newer one: another value of a variable made it another server. */
function withoutPredecessors(servers: PooledServer[]): PooledServer[] {
  const newest = new Map(servers.flatMap(server => (server.isOwn ? [] : [[server.id, server]])));
  return servers.filter(server => server.users.size > 0 || newest.get(server.id) === server);
}
