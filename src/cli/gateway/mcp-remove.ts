import { visibleLine } from '../../base/visible-text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { changeMcpConfig } from '../../workspace/gateway/change-mcp-config.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { refuseAgents } from '../refuse-agents.ts';
import { printJson } from '../terminal/json.ts';
import { inspectedGateway } from './mcp-status.ts';
import { serversIn, withoutServer } from './without-server.ts';

/** `squad mcp remove NAME`: takes a server out of the file, with whatever there refers to it. */
export async function mcpRemove(name: string, context: CliContext): Promise<number> {
  await refuseAgents();
  const { root, roles } = await inspectedGateway(context);
  const changed = await changeMcpConfig(homeFolder(process.env), root, before => {
    const servers = serversIn(before.text);
    if (!servers.includes(name))
      throw new SquadError('INVALID_INPUT', `There is no server ${visibleLine(name)}. Nothing was written.`, {
        suggestions: [
          servers.length === 0 ? 'There are none here.' : `The servers are: ${servers.join(', ')}.`,
        ],
      });
    return withoutServer(before.text, name);
  });
  const named = roles
    .filter(({ mcp }) => mcp.some(entry => entry === name || entry.startsWith(`${name}/`)))
    .map(({ file }) => file);
  if (context.json) printJson(context.out, { ...changed, server: name, named });
  else
    print(context, [
      `${name} is out of ${changed.file}, with all that referred to it there.`,
      ...named.map(file => `${visibleLine(file)} still names it under mcp.`),
    ]);
  return EXIT.done;
}
