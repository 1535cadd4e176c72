import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatTable } from '../terminal/table.ts';

type Report = Output<'inspect_cluster'>;

/** `squad doctor --cluster`: exit code 1 if a hub of the database has a problem. */
export async function doctorClusterCommand(context: CliContext): Promise<number> {
  const report = await HubClient.ask({}, 'inspect_cluster');
  const code = report.problems.length === 0 ? EXIT.done : EXIT.failed;
  return printResult(
    context,
    { ok: code === EXIT.done, ...report },
    () => reportLines(report, context),
    code,
  );
}

const TITLES = ['hub', 'state', 'version', 'runs', 'heartbeat', 'clock', 'answer'];

function reportLines({ database, server, hubs, problems }: Report, { out, style }: CliContext): string[] {
  const rows = hubs.map(({ host, home, isOwn, isConnected, running, queued, silentMs, ...hub }) => {
    const { answer, version } = hub;
    return [
      visibleLine(`${host}:${home}${isOwn ? ' (this hub)' : ''}`),
      answer ? 'running' : style.yellow(isConnected ? 'no answer' : 'stopped'),
      visibleLine(answer?.version ?? version ?? '–'),
      `${running}${queued > 0 ? ` +${queued}` : ''}`,
      silentMs === null ? '–' : `${(silentMs / 1000).toFixed(0)} s ago`,
      answer ? signed(answer.clockAheadMs) : '–',
      answer ? `${Math.round(answer.tookMs)} ms` : '–',
    ];
  });
  return [
    `${visibleLine(database)}, PostgreSQL ${visibleLine(server)}`,
    ...formatTable(
      TITLES.map(title => ({ title })),
      rows,
      out.columns,
      style,
    ),
    ...problems.flatMap(({ message, next }) => [
      style.yellow(visibleLine(message)),
      `  ${withOwnCommand(visibleLine(next))}`,
    ]),
    ...(problems.length === 0 ? ['No problems.'] : []),
  ];
}

const signed = (ms: number): string => `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1000).toFixed(2)} s`;
