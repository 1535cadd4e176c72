import { z } from 'zod';
import { operation } from '../operation.ts';
import { knownServers, serverRemarks } from './server-remarks.ts';

export const FoundTools = {
  tools: z.array(
    z.object({
      server: z.string(),
      tool: z.string(),
      name: z.string(),
      description: z.string(),
      isVisible: z.boolean(),
      reason: z.string().nullable(),
    }),
  ),
  faults: z.array(z.object({ server: z.string(), fault: z.string(), isStarting: z.boolean() })),
};

/** What a role sees of other MCP servers, and why not the rest. Starts servers that are not up: they have to be asked. */
export const inspectRoleTools = operation({
  name: 'inspect_role_tools',
  route: 'GET /gateway/tools',
  agents: null,
  tool: null,
  input: z.strictObject({ role: z.string().min(1).optional() }),
  output: z.object({
    root: z.string(),
    role: z.string().nullable(),
    state: z.enum(['none', 'trusted', 'untrusted', 'invalid']),
    warnings: z.array(z.string()),
    ...FoundTools,
  }),
  async run({ services, caller }, { role }) {
    const workspace = await services.workspaces.open(caller);
    // Throws if there is none: a run of it would be refused too.
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
    // After the look: now it is known what they have.
    const remarks = serverRemarks(inForce, await knownServers(services, workspace));
    const warnings = [...inForce.warnings, ...remarks];
    return { root: workspace.root, role: roleId, state: inForce.state, warnings, tools, faults };
  },
});
