import { z } from 'zod';
import { OwnServers } from '../../schema/mcp-config.ts';
import { FoundTools } from '../gateway/inspect-gateway.ts';
import { operation } from '../operation.ts';

/** The tools of a subagent's servers, and why others are hidden. Starts the servers and stops them. */
export const inspectSubagentTools = operation({
  name: 'inspect_subagent_tools',
  // it starts the servers that a file names, which only the terminal may ask for
  route: null,
  input: z.strictObject({ servers: OwnServers }),
  output: z.object(FoundTools),
  async run({ services, caller }, { servers }) {
    const { root } = await services.workspaces.open(caller);
    const env = await services.workspaces.environment(caller);
    return services.gateway.toolsOfSubagent(caller.cwd ?? root, servers, env);
  },
});
