import { z } from 'zod';
import { operation } from '../operation.ts';
import { knownServers, serverRemarks } from './server-remarks.ts';

const Upstream = z.object({
  workspace: z.string(),
  server: z.string(),
  type: z.enum(['stdio', 'http', 'sse']),
  instance: z.enum(['shared', 'per-agent']),
  health: z.enum(['idle', 'starting', 'up', 'checking', 'retrying', 'cooling', 'unusable']),
  since: z.number(),
  upSince: z.number().nullable(),
  retryAt: z.number().nullable(),
  fault: z.string().nullable(),
  lastFault: z.object({ message: z.string(), at: z.number() }).nullable(),
  pid: z.number().nullable(),
  era: z.enum(['legacy', 'modern']).nullable(),
  serverName: z.string().nullable(),
  tools: z.number().nullable(),
  pending: z.number(),
  runs: z.number(),
  callsInFlight: z.number(),
  calls: z.number(),
  failures: z.number(),
  stray: z.number(),
  restarts: z.number(),
  refused: z.array(z.object({ name: z.string(), reason: z.string() })),
});

export const Pending = z.object({
  server: z.string(),
  tool: z.string(),
  kind: z.enum(['new', 'changed', 'unmatched', 'dangling']),
  hash: z.string(),
  seenAt: z.number(),
  diff: z.array(z.string()),
});

/** The other MCP servers of a workspace: what its file says, how each is doing, what waits for the user's approval. */
export const inspectGateway = operation({
  name: 'inspect_gateway',
  route: 'GET /gateway',
  agents: null,
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    root: z.string(),
    file: z.string(),
    state: z.enum(['none', 'trusted', 'untrusted', 'invalid']),
    warnings: z.array(z.string()),
    /** Of every server in force, also of those nobody has needed yet. */
    servers: z.array(Upstream),
    pending: z.array(Pending),
    /** By server, in its own names; of servers that were seen at least once. */
    knownTools: z.record(z.string(), z.array(z.string())),
    /** What the files of roles name under `mcp`. */
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
