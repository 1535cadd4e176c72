import { z } from 'zod';
import { Pending } from './inspect-gateway.ts';
import { operation } from './operation.ts';

/** Lets definitions take effect that came or changed after the first look at their server. */
export const approveTools = operation({
  name: 'approve_tools',
  tool: null,
  input: z.strictObject({
    server: z.string().min(1).optional(),
    tool: z.string().min(1).optional(),
    /** Of the definitions that were shown; without it, whatever waits. */
    hashes: z.array(z.string()).optional(),
  }),
  output: z.object({
    root: z.string(),
    approved: z.array(Pending),
    /** Not what was shown: it changed once more or came since, and waits. */
    unseen: z.array(Pending),
  }),
  async run({ services, caller }, { server, tool, hashes }) {
    const { gateway } = services;
    const { root } = await services.workspaces.open(caller);
    const what = { ...(server && { server }), ...(tool && { tool }), ...(hashes && { hashes }) };
    const approved = await gateway.approve(root, what);
    const waiting = await gateway.pending(root);
    const unseen = waiting.filter(
      change => (server ?? change.server) === change.server && (tool ?? change.tool) === change.tool,
    );
    return { root, approved, unseen };
  },
});
