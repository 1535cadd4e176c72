import { lintServer } from '../../core/gateway/lint-server.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { SubagentServer } from '../../schema/subagent-file.ts';
import type { Findings } from './findings.ts';
import { serverOf } from './one-server.ts';
import { serverIds } from './server-ids.ts';
import type { Variables } from './variables.ts';

/** Its servers as the gateway knows them, every one for each run alone; null: it has none. */
export function serversOf(
  listed: Readonly<Record<string, SubagentServer>>,
  variables: Variables,
  findings: Findings,
): McpConfig | null {
  const ids = serverIds(Object.keys(listed));
  const servers: McpConfig['servers'] = {};
  const hidden: McpConfig['toolRestrictions'][string] = {};
  for (const [name, given] of Object.entries(listed)) {
    const id = ids.get(name)!;
    const server = serverOf(name, given, variables, findings);
    if (!server) continue;
    servers[id] = server;
    if (given.toolFilter !== 'all' && given.disabledTools?.length)
      hidden[id] = { exclude: given.disabledTools };
    for (const { level, path, message, suggestion } of lintServer(id, server, {
      roles: null,
      env: variables.env,
    })) {
      const at = ['mcpServers', name, ...path.slice(2)];
      if (level === 'error') findings.error(at, message, { suggestion });
      else findings.warn(at, message, { suggestion });
    }
  }
  const kinds = Object.values(listed);
  if (kinds.length > 0 && kinds.every(({ type }) => type === 'builtin'))
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
  };
}
