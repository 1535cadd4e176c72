import { lintServer } from '../../core/gateway/lint-server.ts';
import type { OwnServers } from '../../schema/mcp-config.ts';
import type { Findings } from './findings.ts';
import type { ListedServer } from './lists.ts';
import { warnOfMissingProgram } from './missing-program.ts';
import { serverOf } from './one-server.ts';
import { serverIds } from './server-ids.ts';
import type { Variables } from './variables.ts';

/** Its servers as the gateway knows them, every one for each run alone; null: it has none. */
export function serversOf(
  listed: ReadonlyMap<string, ListedServer>,
  variables: Variables,
  findings: Findings,
): OwnServers | null {
  const ids = serverIds([...listed.keys()]);
  const servers: OwnServers['servers'] = {};
  const hidden: OwnServers['toolRestrictions'][string] = {};
  const startTimeouts: OwnServers['startTimeouts'] = {};
  for (const [name, each] of listed) {
    const id = ids.get(name)!;
    const given = each.part;
    const server = serverOf(name, each, variables, findings);
    if (!server) continue;
    servers[id] = server;
    if (given.timeout !== undefined) startTimeouts[id] = server.timeout;
    warnOfMissingProgram(name, server, variables, findings);
    if (given.toolFilter !== 'all' && given.disabledTools?.length)
      hidden[id] = { exclude: given.disabledTools };
    const known = { roles: null, env: variables.env };
    const whenUnset = `\`squad mcp serve\` does not start: the server ${name} needs it`;
    for (const finding of lintServer(id, server, known, whenUnset)) {
      const { level, path, message, suggestion, isLacking } = finding;
      const at = ['mcpServers', name, ...path.slice(2)];
      if (isLacking) findings.lacking(at, message, { suggestion });
      else if (level === 'error') findings.error(at, message, { suggestion });
      else findings.warn(at, message, { suggestion });
    }
  }
  const kinds = [...listed.values()];
  if (kinds.length > 0 && kinds.every(({ part }) => part.type === 'builtin'))
    findings.error(
      ['mcpServers'],
      'every server here is a builtin of another program, so there would be no tools',
      {
        suggestion: 'Give a program as "command", or take "mcpServers" out if it needs no tools.',
      },
    );
  if (Object.keys(servers).length === 0) return null;
  return {
    servers,
    agentServers: {},
    shared: Object.keys(servers),
    toolRestrictions: Object.keys(hidden).length > 0 ? { '*': hidden } : {},
    argumentRules: [],
    startTimeouts,
  };
}
