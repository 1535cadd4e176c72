import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser';
import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import { changeMcpConfig } from '../../workspace/gateway/change-mcp-config.ts';
import { refuseAgents } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { jsonFormat } from '../setup/install/json-format.ts';
import { printJson } from '../terminal/json.ts';
import { listsOf } from './mcp-add.ts';
import { inspectedGateway } from './mcp-status.ts';

/** Removes elements from a list in a JSON text; does nothing if there is no list. */
function removeElements(text: string, path: string[], isOut: (value: unknown) => boolean): string {
  const tree = parseTree(text);
  const list = tree && findNodeAtLocation(tree, path);
  const nodes = (list?.type === 'array' && list.children) || [];
  const at = nodes.findIndex(node => isOut(getNodeValue(node)));
  const node = nodes[at];
  if (!node) return text;
  const [before, after] = [nodes[at - 1], nodes[at + 1]];
  // With the comma next to it, and the space around it.
  const from = !after && before ? before.offset + before.length : node.offset;
  const to = after ? after.offset : node.offset + node.length;
  return removeElements(text.slice(0, from) + text.slice(to), path, isOut);
}

/** Every server in the file, also those that are disabled because of a mistake. */
const serversIn = (text: string): string[] =>
  Object.keys((JSON.parse(text) as Pick<McpConfig, 'servers'>).servers);

/** The configuration without this server and all references to it. Every other byte stays. */
export function withoutServer(text: string, id: string): string {
  const { agentServers = {}, toolRestrictions = {} } = listsOf(text);
  const isIt = (value: unknown) => value === id;
  let after = jsonFormat.remove(text, ['servers', id]);
  after = removeElements(after, ['shared'], isIt);
  for (const role of Object.keys(agentServers)) {
    after = removeElements(after, ['agentServers', role], isIt);
    const has = agentServers[role]!;
    if (has.length > 0 && has.every(isIt)) after = jsonFormat.remove(after, ['agentServers', role]);
  }
  for (const role of Object.keys(toolRestrictions)) {
    const ofOthers = Object.keys(toolRestrictions[role]!).filter(server => server !== id);
    const path = ofOthers.length > 0 ? [role, id] : [role];
    if (Object.hasOwn(toolRestrictions[role]!, id))
      after = jsonFormat.remove(after, ['toolRestrictions', ...path]);
  }
  return removeElements(after, ['argumentRules'], rule => (rule as { server?: unknown }).server === id);
}

/** `squad mcp remove NAME`: removes a server and all references to it from the file. */
export async function mcpRemove(name: string, context: CliContext): Promise<number> {
  await refuseAgents();
  const { root, roles } = await inspectedGateway(context);
  const changed = await changeMcpConfig(homeFolder(process.env), root, before => {
    const servers = serversIn(before.text);
    if (!servers.includes(name))
      throw new SquadError('INVALID_INPUT', `There is no server ${visibleLine(name)}. Nothing was written.`, {
        suggestions: [
          servers.length === 0 ? 'There are no servers here.' : `The servers are: ${servers.join(', ')}.`,
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
      `Removed ${name} and all references to it from ${changed.file}.`,
      ...named.map(file => `${visibleLine(file)} still names it under mcp.`),
    ]);
  return EXIT.done;
}
