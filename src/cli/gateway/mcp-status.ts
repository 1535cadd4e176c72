import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/wrap.ts';
import { serverRow } from './server-row.ts';

export type Gateway = Output<'inspect_gateway'>;

/** `squad mcp status`: how each of the workspace's other MCP servers is doing. */
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

/** Why there is nothing to show, if there is not. */
export function emptyLines({ state, file }: Pick<Gateway, 'state'> & { file?: string }): string[] {
  if (state === 'untrusted' || state === 'invalid') return ['No server is in force.'];
  return [
    state === 'none' || !file ? 'No servers yet.' : `No servers in ${file} yet.`,
    'Add one: squad mcp add NAME -- COMMAND   (squad mcp import takes over what other clients have)',
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
    refused.map(({ name, reason }) => `${server}: ${name} is not handed on: ${reason}.`),
  );

function next({ pending }: Gateway): string[] {
  if (pending.length === 0) return [];
  return ['', `${pending.length} pending: squad mcp approve`];
}
