import { type Timers, waitAtMost } from '../base/clock.ts';
import { danglingChanges, danglingReferences, EVERYBODY } from '../core/gateway/dangling-references.ts';
import { grantsOf, type Thing, unmatchedChanges, withKnownTools } from '../core/gateway/grants.ts';
import { exposedName, NameTable, names } from '../core/gateway/tool-names.ts';
import { sourceHash } from '../core/gateway/variables.ts';
import { decision, type UseDecision } from '../core/policy.ts';
import type {
  GatewayAdmin,
  PendingChange,
  SeenTool,
  ServerFault,
  UpstreamStatus,
} from '../core/ports/gateway.ts';
import { plainText } from '../core/text.ts';
import { newRunId } from '../schema/ids.ts';
import type { McpConfig, Server } from '../schema/mcp-config.ts';
import {
  faultOf,
  NO_SERVERS,
  ownStartMs,
  type RunServer,
  RunServers,
  type RunServersOptions,
  subjectWithGrants,
} from './access/run-servers.ts';
import type { GatewayOptions } from './gateway.ts';
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

type Inspection = { tools: SeenTool[]; faults: ServerFault[] };

/** Selects the servers that a run of this role would get. With `roleId` null every server is inspected. */
interface Inspect extends Pick<RunServersOptions, 'workspace' | 'roleId' | 'roleMcp' | 'pool' | 'onJudged'> {
  config: McpConfig;
  env: Record<string, string>;
  timers: Timers;
  roles?: readonly string[] | undefined;
  confirmed?: RunServersOptions['confirmed'];
  /** Start timeouts, set only for the own servers of a subagent. */
  startMs?: RunServersOptions['startMs'];
}

/** Lists the tools of a role's servers, and whether the role may use each. Starts servers that are not up. */
async function inspectTools(inspect: Inspect): Promise<Inspection> {
  const { workspace, config, roleId, roleMcp, env, timers, roles, confirmed, startMs } = inspect;
  const servers = new RunServers({
    // Uses the servers as a run does, so that they are stopped afterwards like those of a run.
    runId: newRunId(),
    workspace,
    roleId,
    roleMcp: roleId === null ? Object.keys(config.servers) : roleMcp,
    roots: { WORKSPACE_ROOT: workspace, SQUAD_ROOT: workspace },
    pool: inspect.pool,
    variables: async () => env,
    onJudged: inspect.onJudged,
    isOwn: startMs !== undefined,
    added: null,
    ...(roles && { roles: async () => roles }),
    ...(confirmed && { confirmed }),
    ...(startMs && { startMs }),
  });
  try {
    servers.configure(config);
    await servers.ready();
    const timeoutMs = Math.max(INSPECT_TIMEOUT_MS, ...servers.list.map(({ id }) => startMs?.(id) ?? 0));
    await waitAtMost(timers, timeoutMs, Promise.all(servers.list.map(({ pooled }) => pooled?.warm())));
    const known = new Map(servers.list.map(({ id, pooled }) => [id, pooled?.catalogue.knownTools ?? null]));
    const grants = grantsOf(config, roleId, roleMcp, servers.facts).map(grant =>
      withKnownTools(grant, known.get(grant.server) ?? null),
    );
    const holder = subjectWithGrants(grants, workspace);
    const reasonOf = (thing: Thing) =>
      reasonWhyNot(decision(holder, 'use', thing), thing, known.get(thing.server) ?? null, config, roleId);
    return {
      tools: withoutClashes(servers.list.flatMap(server => seenTools(server, reasonOf))),
      faults: [
        ...servers.disabled.map(each => ({ ...each, isStarting: false })),
        ...servers.list.flatMap(faultFound),
      ],
    };
  } finally {
    servers.release();
  }
}

/** Why the role may not use the tool. Null if it may. */
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

function seenTools({ id, pooled }: RunServer, reasonOf: (thing: Thing) => string | null): SeenTool[] {
  if (pooled === null) return [];
  const { tools, listedTools } = pooled.catalogue;
  const usable = new Set(tools.map(({ own }) => own));
  const seen = (tool: string, description: string, reason: string | null): SeenTool => ({
    ...{ server: id, tool, name: exposedName(id, tool), description },
    ...{ isVisible: reason === null, reason },
  });
  return [
    ...listedTools.map(({ name, description }) =>
      seen(
        name,
        typeof description === 'string' ? description : '',
        reasonOf({ kind: 'tool', server: id, name, isApproved: usable.has(name) }),
      ),
    ),
    ...pooled.catalogue.rejected('tools').map(({ name, reason }) => seen(name, '', `rejected: ${reason}`)),
  ];
}

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

/** Status of a server that no run uses. */
const idleStatus = (workspace: string, server: string, now: number): UpstreamStatus => ({
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
});

/** Status of a server that is in use, or was until a moment ago. */
function pooledStatus(server: PooledServer): UpstreamStatus {
  const { id, workspace, config, upstream, catalogue, pins, users, inFlight, redactor } = server;
  const { link, health, since, retryAt, fault, lastFault, failures, calls, stray } = upstream;
  return {
    workspace,
    server: id,
    type: typeOf(config),
    instance: config.instance,
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
    pending: pendingCount(pins),
    runs: users.size,
    callsInFlight: inFlight.count(),
    calls,
    failures,
    stray,
    restarts: Math.max(0, upstream.starts - 1),
    refused: catalogue.rejected(),
  };
}

const typeOf = (server: Server): UpstreamStatus['type'] => ('command' in server ? 'stdio' : server.type);

const pendingCount = ({ pins }: ServerPins): number =>
  (pins ?? []).filter(pin => pin.state === 'pending').length;

interface AdminOptions extends Pick<GatewayOptions, 'configs' | 'audit' | 'clock'> {
  pool: Pool;
  pinsOf(key: ServerPins['key']): ServerPins;
  timers: Timers;
  unusable: UnusableServers;
  /** Loads the confirmed dangling restrictions of a server. */
  confirmed(workspace: string, server: string): ServerPins;
  onConfirmed(workspace: string): void;
  /** Workspaces that have runs. */
  workspaces(): string[];
}

/** Status, inspection and approval for the user. */
export function createAdmin(options: AdminOptions): GatewayAdmin {
  const { configs, pool, pinsOf, audit, clock, timers, unusable, confirmed, onConfirmed, workspaces } =
    options;
  return {
    async status(workspace) {
      const all =
        workspace === null ? [...workspaces(), ...pool.all().map(server => server.workspace)] : [workspace];
      return (await Promise.all([...new Set(all)].sort().map(statusOf))).flat();
    },

    toolsOf: async (workspace, roleId, roleMcp, env, roles) =>
      inspectTools({
        ...{ workspace, roleId, roleMcp, env, pool, timers, roles },
        config: await configOf(workspace),
        confirmed: server => confirmed(workspace, server),
        onJudged: (server, fault) => unusable.judged(workspace, server, fault),
      }),

    toolsOfSubagent: (directory, servers, env) =>
      inspectTools({
        ...{ workspace: directory, config: servers, roleId: null, roleMcp: [], env, pool, timers },
        startMs: id => ownStartMs(servers, id),
      }),

    async knownTools(workspace) {
      const all = await loadedPins(workspace, await configOf(workspace));
      return Object.fromEntries(
        all.flatMap(({ key, pins }) =>
          pins === null ? [] : [[key.server, [...new Set(pins.map(({ name }) => name))].sort()]],
        ),
      );
    },

    async pending(workspace, roles) {
      const config = await configOf(workspace);
      const all = await loadedPins(workspace, config);
      const lists = all.map(async pins => [...(await pins.pending()), ...unmatched(config, pins)]);
      return [...(await dangling(workspace, config, roles)), ...(await Promise.all(lists)).flat()];
    },

    async approve(workspace, { server, tool, hashes }, roles) {
      const config = await configOf(workspace);
      const isMeant = (change: PendingChange) =>
        (server ?? change.server) === change.server &&
        (tool ?? change.tool) === change.tool &&
        (hashes?.includes(change.hash) ?? true);
      const restrictions = (await dangling(workspace, config, roles)).filter(isMeant);
      for (const change of restrictions) await confirmed(workspace, change.server).confirm([change.tool]);
      const approved: PendingChange[] = [...restrictions];
      for (const pins of pinsFor(workspace, config)) {
        if (server !== undefined && pins.key.server !== server) continue;
        approved.push(...(await pins.approve(isMeant)));
        const entries = unmatched(config, pins).filter(isMeant);
        if (entries.length > 0) await pins.confirm(entries.map(change => change.tool));
        approved.push(...entries);
      }
      for (const change of approved)
        audit.append({
          ...{ runId: null, roleId: null, workspace, server: change.server },
          ...{ kind: 'approval', name: change.tool, decision: 'allowed', outcome: change.kind },
          resultHash: change.hash,
        });
      await audit.flush();
      if (restrictions.length > 0) onConfirmed(workspace);
      return approved;
    },
  };

  async function statusOf(workspace: string): Promise<UpstreamStatus[]> {
    const config = await configOf(workspace);
    const now = clock.now();
    const pooled = withoutPredecessors(pool.all().filter(server => server.workspace === workspace));
    const unused = pinsFor(workspace, config).filter(
      ({ key }) => !pooled.some(server => server.id === key.server && !server.isOwn),
    );
    await Promise.all(unused.map(pins => pins.load()));
    return [
      ...Object.entries(config.disabled ?? {}).map(([id, { type, fault }]) => ({
        ...idleStatus(workspace, id, now),
        ...{ type, fault, health: 'unusable' as const },
      })),
      ...pooled.map(pooledStatus),
      ...unused.map((pins): UpstreamStatus => {
        const { server: id } = pins.key;
        const server = config.servers[id]!;
        const fault = unusable.of(workspace, id);
        return {
          ...idleStatus(workspace, id, now),
          type: typeOf(server),
          instance: server.instance,
          health: fault === null ? 'idle' : 'unusable',
          fault,
          tools: pins.pins?.filter(pin => pin.state === 'approved').length ?? null,
          pending: pendingCount(pins),
        };
      }),
    ];
  }

  async function dangling(
    workspace: string,
    config: McpConfig,
    roles: readonly string[] | undefined,
  ): Promise<PendingChange[]> {
    const references = danglingReferences(config, { roles: roles ?? null, isConfirmed: () => false });
    const pins = new Map(references.map(({ server }) => [server, confirmed(workspace, server)]));
    await Promise.all([...pins.values()].map(each => each.load()));
    const pending = references.filter(
      ({ server, place }) => !pins.get(server)!.pins?.some(({ name }) => name === place),
    );
    return danglingChanges(pending, clock.now());
  }

  /** Entries of the configuration that match no tool of this server. Empty if the server's pins are not loaded. */
  function unmatched(config: McpConfig, { key, pins }: ServerPins): PendingChange[] {
    if (pins === null) return [];
    return unmatchedChanges(config, key.server, new Set(pins.map(({ name }) => name)), clock.now());
  }

  async function loadedPins(workspace: string, config: McpConfig): Promise<ServerPins[]> {
    const all = pinsFor(workspace, config);
    await Promise.all(all.map(pins => pins.load()));
    return all;
  }

  function pinsFor(workspace: string, { servers }: McpConfig): ServerPins[] {
    return Object.entries(servers).map(([id, server]) =>
      pinsOf({ workspace, server: id, source: sourceHash(server) }),
    );
  }

  async function configOf(workspace: string): Promise<McpConfig> {
    return (await configs.of(workspace)).config ?? NO_SERVERS;
  }
}

/**
 * Leaves out unused servers that a newer server with the same id has replaced. A server whose variables have other
 * values is a new server.
 */
function withoutPredecessors(servers: PooledServer[]): PooledServer[] {
  const newest = new Map(servers.flatMap(server => (server.isOwn ? [] : [[server.id, server]])));
  return servers.filter(server => server.users.size > 0 || newest.get(server.id) === server);
}
