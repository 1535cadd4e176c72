import { z } from 'zod';
import { nearest } from '../../base/text.ts';
import { PendingChange } from '../../core/ports/gateway.ts';
import { SquadError } from '../../schema/error.ts';
import { operation, type Services } from '../operation.ts';

/** Approves definitions that were added or changed after the first list of their server. */
export const approveTools = operation({
  name: 'approve_tools',
  route: 'POST /gateway/approve',
  input: z.strictObject({
    server: z.string().min(1).optional(),
    tool: z.string().min(1).optional(),
    /** Hashes of the definitions that the user has seen; without it, all pending definitions are approved. */
    hashes: z.array(z.string()).optional(),
  }),
  output: z.object({
    root: z.string(),
    approved: z.array(PendingChange),
    /** Changes that stay pending, because they were added or changed after the user last read the list. */
    unseen: z.array(PendingChange),
  }),
  async run({ services, caller }, { server, tool, hashes }) {
    const { gateway } = services;
    const workspace = await services.workspaces.open(caller);
    const { root } = workspace;
    const roles = (await workspace.roles()).map(({ id }) => id);
    await checkExists(services, await gateway.pending(root, roles), root, server, tool);
    const what = { ...(server && { server }), ...(tool && { tool }), ...(hashes && { hashes }) };
    const approved = await gateway.approve(root, what, roles);
    const waiting = await gateway.pending(root, roles);
    const unseen = waiting.filter(
      change => (server ?? change.server) === change.server && (tool ?? change.tool) === change.tool,
    );
    return { root, approved, unseen };
  },
});

/** Throws if the server or tool does not exist. */
async function checkExists(
  { gateway, mcpConfigs }: Pick<Services, 'gateway' | 'mcpConfigs'>,
  waiting: readonly PendingChange[],
  root: string,
  server: string | undefined,
  tool: string | undefined,
): Promise<void> {
  if (server === undefined) return;
  const servers = Object.keys((await mcpConfigs.of(root)).config?.servers ?? {});
  const isPending = (each: PendingChange) =>
    each.server === server && (tool === undefined || each.tool === tool);
  if (waiting.some(isPending)) return;
  if (!servers.includes(server)) throw unknown(`There is no server "${server}"`, server, servers);
  if (tool === undefined) return;
  const tools = new Map(Object.entries(await gateway.knownTools(root))).get(server);
  if (tools && !tools.includes(tool)) throw unknown(`There is no tool "${tool}" in ${server}`, tool, tools);
}

function unknown(message: string, wanted: string, names: readonly string[]): SquadError {
  const near = nearest(wanted, names);
  return new SquadError('INVALID_INPUT', message, {
    suggestions: [
      near.length > 0
        ? `Did you mean ${near.map(name => `"${name}"`).join(' or ')}?`
        : '`squad mcp status` shows the servers, and how much of each is pending.',
    ],
  });
}
