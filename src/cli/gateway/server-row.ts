import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';

type Upstream = Output<'inspect_gateway'>['servers'][number];

/** One server in the table of `squad mcp status`. */
export function serverRow(upstream: Upstream, now: number, style: Style): string[] {
  const { server, type, upSince, tools, pending, runs, calls, failures } = upstream;
  return [
    server,
    type,
    stateWords(upstream, now, style),
    upSince === null ? '–' : formatDuration(now - upSince),
    tools === null ? '–' : String(tools),
    pending === 0 ? '' : style.yellow(String(pending)),
    String(runs),
    failures === 0 ? String(calls) : `${calls} (${failures} failed)`,
    faultWords(upstream, now, style),
  ];
}

function stateWords({ health, retryAt, instance }: Upstream, now: number, style: Style): string {
  const paint = { up: style.green, idle: style.dim, unusable: style.red }[health as string] ?? style.yellow;
  const when =
    retryAt === null ? '' : retryAt <= now ? ', again now' : `, again in ${formatDuration(retryAt - now)}`;
  return `${paint(health)}${when}${instance === 'per-agent' ? style.dim(' per agent') : ''}`;
}

/** One that is over is told with when it was. */
function faultWords({ fault, lastFault }: Upstream, now: number, style: Style): string {
  if (fault !== null) return style.red(visibleLine(fault));
  if (lastFault === null) return '';
  return style.dim(`${formatDuration(now - lastFault.at)} ago: ${visibleLine(lastFault.message)}`);
}
