import type { McpConfig } from '../../schema/mcp-config.ts';
import type { Entry } from '../setup/install/clients.ts';
import { jsonFormat } from '../setup/install/json-format.ts';

export interface NewServer {
  id: string;
  /** As it is to stand in the file. */
  entry: Entry;
}

export interface GivenTo {
  roles: readonly string[];
  /** To every run. */
  shared: boolean;
}

/** A configuration with these servers in it; every byte beside them stays. One of the same id is replaced. */
export function withServers(text: string, servers: readonly NewServer[], given: GivenTo): string {
  const after = servers.reduce(
    (before, { id, entry }) =>
      jsonFormat.put(jsonFormat.remove(before, ['servers', id]), ['servers', id], entry),
    text,
  );
  return withGiven(
    after,
    servers.map(({ id }) => id),
    given,
  );
}

/** The same for servers that are in it. */
export function withGiven(text: string, ids: readonly string[], { roles, shared }: GivenTo): string {
  return ids.reduce((before, id) => {
    let after = before;
    for (const role of roles) {
      const has = listsOf(after).agentServers?.[role] ?? [];
      if (!has.includes(id)) after = jsonFormat.put(after, ['agentServers'], { [role]: [...has, id] });
    }
    const all = listsOf(after).shared ?? [];
    return shared && !all.includes(id) ? jsonFormat.put(after, [], { shared: [...all, id] }) : after;
  }, text);
}

type Lists = Pick<McpConfig, 'agentServers' | 'shared' | 'toolRestrictions' | 'argumentRules'>;

export const listsOf = (text: string): Partial<Lists> => JSON.parse(text) as Partial<Lists>;
