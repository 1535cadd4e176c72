import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
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

/** A fault that is over is shown with its age. */
function faultText({ fault, lastFault }: Upstream, now: number, style: Style): string {
  if (fault !== null) return style.red(visibleLine(fault));
  if (lastFault === null) return '';
  return style.dim(`${formatDuration(now - lastFault.at)} ago: ${visibleLine(lastFault.message)}`);
}

export type Gateway = Output<'inspect_gateway'>;

/** `squad mcp status`: the state of the workspace's other MCP servers. */
export async function mcpStatus(context: CliContext): Promise<number> {
  const gateway = await inspectedGateway(context);
  const { out } = context;
  if (context.json) printJson(out, gateway);
  else
    print(context, [
      ...table(gateway, context),
      ...warningLines([...gateway.warnings, ...refusals(gateway)], context),
      ...next(gateway),
    ]);
  return EXIT.done;
}

export async function inspectedGateway({ workspace }: CliContext): Promise<Gateway> {
  return HubClient.ask({ workspace }, 'inspect_gateway');
}

export const warningLines = (warnings: string[], { out, style }: CliContext): string[] =>
  warnings.flatMap(warning => wrap(visibleLine(warning), out.columns).map(style.yellow));

/** Why there is nothing to show. */
export function emptyLines({ state, file }: Pick<Gateway, 'state'> & { file?: string }): string[] {
  if (state === 'untrusted' || state === 'invalid') return ['No server is in force.'];
  return [
    state === 'none' || !file ? 'No servers yet.' : `No servers in ${file} yet.`,
    'Add one: squad mcp add NAME -- COMMAND   (or import those of other clients: squad mcp import)',
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
  return ['', `${pending.length} pending: squad mcp approve`];
}
