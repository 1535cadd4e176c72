import type { z } from 'zod';
import type { inspectRoleTools } from '../../operations/inspect-role-tools.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';
import { formatTable } from '../output/table.ts';
import { emptyLines, warningLines } from './mcp-status.ts';

type RoleTools = z.output<typeof inspectRoleTools.output>;

/** `squad mcp tools [--role X]`: what that role sees of other servers, and why not the rest. */
export async function mcpTools({ role }: { role?: string }, context: CliContext): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const found = await client
    .call<RoleTools>('inspect_role_tools', role === undefined ? {} : { role })
    .finally(() => client.close());
  if (context.json) printJson(context.out, found);
  else print(context, [...lines(found, context), ...warningLines(found.warnings, context)]);
  return EXIT.done;
}

function lines({ role, tools, faults, state }: RoleTools, { out, style }: CliContext): string[] {
  const who = role === null ? 'A run without a role' : `The role ${oneLine(role)}`;
  const seen = tools.filter(({ isVisible }) => isVisible);
  const hidden = tools.filter(({ isVisible }) => !isVisible);
  const starting = faults
    .filter(({ isStarting }) => isStarting)
    .map(({ server }) => style.yellow(`${server} is still starting; run this again in a moment`));
  const broken = faults
    .filter(({ isStarting }) => !isStarting)
    .map(({ server, fault }) => style.red(`${server}: ${oneLine(fault)}`));
  if (tools.length === 0 && state !== 'trusted') return emptyLines({ state });
  if (tools.length === 0)
    return [
      ...(starting.length > 0 ? starting : [`${who} has no tools of other servers.`]),
      ...broken,
      ...(role === null ? [ROLE_HINT] : []),
    ];
  return [
    `${who} sees ${seen.length} of ${tools.length} tools.`,
    '',
    ...formatTable(
      [{ title: 'tool' }, { title: 'sees it' }, { title: 'why not, or what it does', shrinkTo: 0 }],
      [
        ...seen.map(({ name, description }) => [oneLine(name), style.green('yes'), oneLine(description)]),
        ...hidden.map(({ name, reason }) => [oneLine(name), style.dim('no'), oneLine(reason ?? '')]),
      ],
      out.columns,
      style,
    ),
    ...(faults.length > 0 ? ['', ...starting, ...broken] : []),
    ...(role === null ? ['', ROLE_HINT] : []),
  ];
}

const ROLE_HINT = 'For a role: squad mcp tools --role ROLE';
