import { resolve } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { emptyLines, warningLines } from './mcp-status.ts';

type FoundTools = Output<'inspect_subagent_tools'>;

/** Visible tools, hidden tools, and servers that could not be asked. */
function toolLines({ tools, faults }: FoundTools, who: string, { out, style }: CliContext): string[] {
  const seen = tools.filter(({ isVisible }) => isVisible);
  const hidden = tools.filter(({ isVisible }) => !isVisible);
  const starting = faults
    .filter(({ isStarting }) => isStarting)
    .map(({ server }) => style.yellow(`${server} is still starting; run this again in a moment`));
  const broken = faults
    .filter(({ isStarting }) => !isStarting)
    .map(({ server, fault }) => style.red(`${server}: ${visibleLine(fault)}`));
  if (tools.length === 0)
    return [...(starting.length > 0 ? starting : [`${who} has no tools of other servers.`]), ...broken];
  return [
    `${who} sees ${seen.length} of ${tools.length} tools.`,
    '',
    ...formatTable(
      [{ title: 'tool' }, { title: 'visible' }, { title: 'description, or why hidden', shrinkTo: 0 }],
      [
        ...seen.map(({ name, description }) => [
          visibleLine(name),
          style.green('yes'),
          visibleLine(description),
        ]),
        ...hidden.map(({ name, reason }) => [visibleLine(name), style.dim('no'), visibleLine(reason ?? '')]),
      ],
      out.columns,
      style,
    ),
    ...(faults.length > 0 ? ['', ...starting, ...broken] : []),
  ];
}

type RoleTools = Output<'inspect_role_tools'>;

/** `squad mcp tools [--role X]`: the tools of other servers that the role sees, and why it does not see the rest. */
export async function mcpTools({ role }: { role?: string }, context: CliContext): Promise<number> {
  const found = await HubClient.ask(
    { workspace: context.workspace },
    'inspect_role_tools',
    role === undefined ? {} : { role },
  );
  if (context.json) printJson(context.out, found);
  else print(context, [...lines(found, context), ...warningLines(found.warnings, context)]);
  return EXIT.done;
}

function lines(found: RoleTools, context: CliContext): string[] {
  const { role, tools, state } = found;
  if (tools.length === 0 && state !== 'trusted') return emptyLines({ state });
  const who = role === null ? 'A run without a role' : `The role ${visibleLine(role)}`;
  return [...toolLines(found, who, context), ...(role === null ? ['', ROLE_HINT] : [])];
}

const ROLE_HINT = 'For a role: squad mcp tools --role ROLE';

/** `squad mcp tools FILE`: the subagent's own tool, and the tools of its servers. */
export async function mcpToolsOfFile(given: string, context: CliContext): Promise<number> {
  const { readSubagentToInspect } = await import('../../workspace/subagents/subagent-file.ts');
  const env = { ...process.env } as Record<string, string>;
  const { name, description, servers, codeMode } = await readSubagentToInspect(given, env);
  const found: Output<'inspect_subagent_tools'> = servers
    ? await HubClient.ask({ workspace: context.workspace }, 'inspect_subagent_tools', { servers })
    : { tools: [], faults: [] };
  if (context.json)
    printJson(context.out, {
      file: resolve(given),
      name,
      description,
      codeMode: codeMode !== null,
      ...found,
    });
  else
    print(context, [
      `${context.style.bold(name)}: ${visibleLine(description)}`,
      '',
      ...toolLines(found, 'The subagent', context),
    ]);
  return found.faults.length > 0 ? EXIT.failed : EXIT.done;
}
