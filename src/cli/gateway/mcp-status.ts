import { resolve } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

type Upstream = Output<'inspect_gateway'>['servers'][number];

/** One server in the table of `squad mcp status`. */
export function serverRow(upstream: Upstream, now: number, style: Style): string[] {
  const { server, type, upSince, tools, pending, runs, calls, failures } = upstream;
  return [
    server,
    type,
    stateText(upstream, now, style),
    upSince === null ? '–' : formatDuration(now - upSince),
    tools === null ? '–' : String(tools),
    pending === 0 ? '' : style.yellow(String(pending)),
    String(runs),
    failures === 0 ? String(calls) : `${calls} (${failures} failed)`,
    faultText(upstream, now, style),
  ];
}

function stateText({ health, retryAt, instance }: Upstream, now: number, style: Style): string {
  const paint = { up: style.green, idle: style.dim, unusable: style.red }[health as string] ?? style.yellow;
  const when =
    retryAt === null ? '' : retryAt <= now ? ', retry now' : `, retry in ${formatDuration(retryAt - now)}`;
  return `${paint(health)}${when}${instance === 'per-agent' ? style.dim(' per agent') : ''}`;
}

/** Shows the current error of a server, or its last error with the time since then. */
function faultText({ fault, lastFault }: Upstream, now: number, style: Style): string {
  if (fault !== null) return style.red(visibleLine(fault));
  if (lastFault === null) return '';
  return style.dim(`${formatDuration(now - lastFault.at)} ago: ${visibleLine(lastFault.message)}`);
}

export type Gateway = Output<'inspect_gateway'>;

/** `squad mcp status`: the state of the workspace's other MCP servers. */
export async function mcpStatus(context: CliContext): Promise<number> {
  const gateway = await inspectedGateway(context);
  return printResult(context, gateway, () => [
    ...table(gateway, context),
    ...warningLines([...gateway.warnings, ...refusals(gateway)], context),
    ...next(gateway),
  ]);
}

export async function inspectedGateway({ workspace }: CliContext): Promise<Gateway> {
  return HubClient.ask({ workspace }, 'inspect_gateway');
}

const warningLines = (warnings: string[], { out, style }: CliContext): string[] =>
  warnings.flatMap(warning => wrap(visibleLine(warning), out.columns).map(style.yellow));

/** Explains why there are no servers to show. */
function emptyLines({ state, file }: Pick<Gateway, 'state'> & { file?: string }): string[] {
  if (state === 'untrusted' || state === 'invalid')
    return ['No servers are available: the configuration has no effect.'];
  return [
    state === 'none' || !file ? 'No servers yet.' : `No servers in ${file} yet.`,
    withOwnCommand(
      'Add one with `squad mcp add NAME -- COMMAND`, or import the servers of other clients with `squad mcp import`.',
    ),
  ];
}

function table({ servers, state, file }: Gateway, { out, style }: CliContext): string[] {
  const now = Date.now();
  if (servers.length === 0) return emptyLines({ state, file });
  const rows = servers
    .toSorted((one, other) => (one.server < other.server ? -1 : 1))
    .map(upstream => serverRow(upstream, now, style));
  return formatTable(
    [
      { title: 'server' },
      { title: 'type' },
      { title: 'state' },
      { title: 'up', align: 'right' },
      { title: 'tools', align: 'right' },
      { title: 'pending', align: 'right' },
      { title: 'runs', align: 'right' },
      { title: 'calls', align: 'right' },
      { title: 'last fault', shrinkTo: 0 },
    ],
    rows,
    out.columns,
    style,
  );
}

const refusals = ({ servers }: Gateway): string[] =>
  servers.flatMap(({ server, refused }) =>
    refused.map(({ name, reason }) => `${server}: ${name} is rejected: ${reason}.`),
  );

function next({ pending }: Gateway): string[] {
  if (pending.length === 0) return [];
  return ['', withOwnCommand(`${pending.length} waiting for approval: squad mcp approve`)];
}

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
    return [...(starting.length > 0 ? starting : [`${who} gets no tools from other servers.`]), ...broken];
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
  return printResult(context, found, () => [
    ...lines(found, context),
    ...warningLines(found.warnings, context),
  ]);
}

function lines(found: RoleTools, context: CliContext): string[] {
  const { role, tools, state } = found;
  if (tools.length === 0 && state !== 'trusted') return emptyLines({ state });
  const who = role === null ? 'A run without a role' : `The role ${visibleLine(role)}`;
  return [...toolLines(found, who, context), ...(role === null ? ['', withOwnCommand(ROLE_HINT)] : [])];
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
  return printResult(
    context,
    { file: resolve(given), name, description, codeMode: codeMode !== null, ...found },
    () => [
      `${context.style.bold(name)}: ${visibleLine(description)}`,
      '',
      ...toolLines(found, 'The subagent', context),
    ],
    found.faults.length > 0 ? EXIT.failed : EXIT.done,
  );
}
