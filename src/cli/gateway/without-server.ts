import type { McpConfig } from '../../schema/mcp-config.ts';
import { jsonFormat } from '../setup/install/json-format.ts';
import { removeElements } from './remove-elements.ts';
import { listsOf } from './with-servers.ts';

/** Every entry of the file, also those that are disabled because of a mistake. */
export const serversIn = (text: string): string[] =>
  Object.keys((JSON.parse(text) as Pick<McpConfig, 'servers'>).servers);

/** A configuration without this server and without whatever refers to it; every byte beside them stays. */
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
