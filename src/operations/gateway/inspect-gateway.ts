import { z } from 'zod';
import {
  type ConfigFinding,
  lintMcpConfig,
  lintRoleFiles,
  type RoleFinding,
  type RoleServers,
} from '../../core/gateway/lint-config.ts';
import {
  type ConfigInForce,
  ConfigState,
  PendingChange,
  SeenTool,
  ServerFault,
  UpstreamStatus,
} from '../../core/ports/gateway.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import { RunId } from '../../schema/ids.ts';
import { OwnServers } from '../../schema/mcp-config.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** Facts about a configuration: the tools of its servers, and the servers that role files name. */
interface KnownServers {
  tools: Record<string, string[]>;
  roles: RoleServers[];
}

async function knownServers(
  { gateway }: Pick<Services, 'gateway'>,
  workspace: Workspace,
): Promise<KnownServers> {
  const [tools, roles] = await Promise.all([gateway.knownTools(workspace.root), workspace.roles()]);
  return {
    tools,
    roles: roles.map(({ id, file, wantedMcp, ungranted }) => ({
      ...{ id, file, mcp: wantedMcp, isTrusted: !ungranted.includes('mcp') },
    })),
  };
}

/** Findings that depend on roles and known tools. Findings about the file alone are among the file's warnings. */
function serverRemarks({ config, file }: ConfigInForce, { tools, roles }: KnownServers): string[] {
  if (config === null) return [];
  const ofFileAlone = new Set(lintMcpConfig(config, { roles: null, env: null }).map(keyOf));
  const known = { roles: roles.map(({ id }) => id), env: null, tools, roleFiles: roles };
  return [
    ...lintMcpConfig(config, known)
      .filter(finding => !ofFileAlone.has(keyOf(finding)))
      .map(finding => sentence(file, finding)),
    ...lintRoleFiles(config, roles, tools).map(finding => sentence(finding.file, finding)),
  ];
}

const keyOf = ({ path, message }: ConfigFinding): string => JSON.stringify([path, message]);

const sentence = (
  file: string,
  { message, suggestion }: Pick<RoleFinding, 'message' | 'suggestion'>,
): string => `${file}: ${message}.${suggestion === undefined ? '' : ` ${suggestion}`}`;

/** The other MCP servers of a workspace: its file, the state of each server, and pending approvals. */
export const inspectGateway = operation({
  name: 'inspect_gateway',
  route: 'GET /gateway',
  input: z.strictObject({}),
  output: z.object({
    root: z.string(),
    file: z.string(),
    state: ConfigState,
    warnings: z.array(z.string()),
    /** Every configured server, including those that no run has needed yet. */
    servers: z.array(UpstreamStatus),
    pending: z.array(PendingChange),
    /** Known tools by server, under the server's own names; only servers that were listed at least once. */
    knownTools: z.record(z.string(), z.array(z.string())),
    /** Entries of role files under `mcp`. */
    roles: z.array(
      z.object({ id: z.string(), file: z.string(), mcp: z.array(z.string()), isTrusted: z.boolean() }),
    ),
  }),
  async run({ services, caller }) {
    const workspace = await services.workspaces.open(caller);
    const { root } = workspace;
    const inForce = await services.mcpConfigs.of(root);
    const [servers, known] = await Promise.all([
      services.gateway.status(root),
      knownServers(services, workspace),
    ]);
    const pending = await services.gateway.pending(
      root,
      known.roles.map(({ id }) => id),
    );
    const { file, state } = inForce;
    const warnings = [...inForce.warnings, ...serverRemarks(inForce, known)];
    const roles = known.roles.map(role => ({ ...role, mcp: [...role.mcp] }));
    return { root, file, state, warnings, servers, pending, knownTools: known.tools, roles };
  },
});

const FoundTools = { tools: z.array(SeenTool), faults: z.array(ServerFault) };

/** The tools of other MCP servers that a role sees, and why it does not see the rest. Starts servers that are not up. */
export const inspectRoleTools = operation({
  name: 'inspect_role_tools',
  route: 'GET /gateway/tools',
  input: z.strictObject({ role: z.string().min(1).optional() }),
  output: z.object({
    root: z.string(),
    role: z.string().nullable(),
    state: ConfigState,
    warnings: z.array(z.string()),
    ...FoundTools,
  }),
  async run({ services, caller }, { role }) {
    const workspace = await services.workspaces.open(caller);
    // Throws for an unknown role, because a run with it would be refused too.
    const found = role === undefined ? null : await workspace.role(role);
    const roleId = found?.id ?? null;
    const inForce = await services.mcpConfigs.of(workspace.root);
    const env = await services.workspaces.environment(caller, found?.meta.env);
    const { tools, faults } = await services.gateway.toolsOf(
      workspace.root,
      roleId,
      found?.meta.mcp ?? [],
      env,
      (await workspace.roles()).map(({ id }) => id),
    );
    // The remarks are computed after the inspection, because the inspection finds the tools.
    const remarks = serverRemarks(inForce, await knownServers(services, workspace));
    const warnings = [...inForce.warnings, ...remarks];
    return { root: workspace.root, role: roleId, state: inForce.state, warnings, tools, faults };
  },
});

/** The tools of a subagent's servers, and why others are hidden. Starts the servers and stops them. */
export const inspectSubagentTools = operation({
  name: 'inspect_subagent_tools',
  // no HTTP route: this starts servers that a file names, which only the terminal may do
  route: null,
  input: z.strictObject({ servers: OwnServers }),
  output: z.object(FoundTools),
  async run({ services, caller }, { servers }) {
    const { root } = await services.workspaces.open(caller);
    const env = await services.workspaces.environment(caller);
    return services.gateway.toolsOfSubagent(caller.cwd ?? root, servers, env);
  },
});

/** The newest entries of the audit log, oldest first: requests of agents to other servers. */
export const readAudit = operation({
  name: 'read_audit',
  route: 'GET /audit',
  input: z.strictObject({
    /** Id of a run, or the beginning of the id. */
    run: z.string().optional(),
    deniedOnly: z.boolean().default(false),
    limit: z.number().int().min(1).max(1000).default(50),
  }),
  output: z.object({ entries: z.array(AuditRecord), unreadable: z.number() }),
  async run({ services }, { run, deniedOnly, limit }) {
    // A complete run id is not looked up, because the run may already be pruned. The audit log is kept longer than
    // runs.
    const whole = RunId.safeParse(run).data;
    const runId = run === undefined ? undefined : (whole ?? (await findRun(services, run)).id);
    return services.audit.entries({ runId, deniedOnly, limit });
  },
});

/** Whether the audit log is complete and unchanged. */
export const verifyAudit = operation({
  name: 'verify_audit',
  route: 'GET /audit/verification',
  input: z.strictObject({}),
  output: AuditVerdict,
  run: ({ services }) => services.audit.verify(),
});
