import { EVERYBODY } from '../core/gateway/dangling-references.ts';
import type { Thing } from '../core/gateway/decide.ts';
import { grantsOf, withKnownTools } from '../core/gateway/grants.ts';
import { exposedName, NameTable, names } from '../core/gateway/tool-names.ts';
import { decision, type UseDecision } from '../core/policy.ts';
import type { SeenTool, ServerFault } from '../core/ports/gateway.ts';
import { newRunId } from '../schema/ids.ts';
import type { McpConfig } from '../schema/mcp-config.ts';
import { holderOf, type RunServer, RunServers, type RunServersOptions } from './access/run-servers.ts';
import { faultOf } from './access/standing.ts';
import { atMost } from './patience.ts';
import type { Timers } from './timers.ts';
import type { Pool } from './upstream/pool.ts';

const PATIENCE_MS = 10_000;

const REASONS: Record<Extract<UseDecision, { allowed: false }>['reason'], string> = {
  server: 'the role does not have this server',
  not_listed: "not in the server's tools",
  excluded: 'excluded for the role',
  unmatched: 'hidden: a restriction names a tool, server or role that does not exist',
  not_approved: 'pending approval',
  argument: 'an argument rule',
  ended: 'the run has ended',
};

export interface Look {
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
export async function lookAtTools({
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
    const patienceMs = Math.max(PATIENCE_MS, ...servers.list.map(({ id }) => startMs?.(id) ?? 0));
    await atMost(timers, patienceMs, Promise.all(servers.list.map(({ pooled }) => pooled?.warm())));
    const known = new Map(servers.list.map(({ id, pooled }) => [id, pooled?.catalogue.knownTools ?? null]));
    const grants = grantsOf(config, roleId, roleMcp, servers.facts).map(grant =>
      withKnownTools(grant, known.get(grant.server) ?? null),
    );
    const holder = holderOf(grants, workspace);
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
