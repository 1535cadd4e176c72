import { visibleLine } from '../../base/text.ts';
import type { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import { runName } from '../../schema/run-text.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { formatTable } from '../terminal/table.ts';

export interface AuditOptions {
  run?: string;
  denied?: boolean;
  limit?: string;
}

/** `squad audit`: requests of agents to other servers, the newest last. */
export async function showAudit({ run, denied, limit }: AuditOptions, context: CliContext): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '50', 1, 1000);
  const page = await HubClient.ask({ workspace: context.workspace }, 'read_audit', {
    ...(run !== undefined && { run }),
    deniedOnly: denied === true,
    limit: most,
  });
  printResult(context, page, () =>
    page.entries.length > 0
      ? table(page.entries, context)
      : [run !== undefined || denied ? 'The audit log has no such entries.' : 'The audit log is empty.'],
  );
  if (!context.json && page.unreadable > 0)
    context.err.write(
      withOwnCommand(`${page.unreadable} lines cannot be read; \`squad audit verify\` shows where.\n`),
    );
  return EXIT.done;
}

/** `squad audit verify`: whether the log is complete and unchanged. */
export async function verifyAudit(context: CliContext): Promise<number> {
  const verdict = await HubClient.ask({ workspace: context.workspace }, 'verify_audit');
  const code = verdict.problem ? EXIT.failed : EXIT.done;
  return printResult(context, verdict, () => verdictLines(verdict, context), code);
}

function table(entries: AuditRecord[], { out, style }: CliContext): string[] {
  const rows = entries.map(entry => [
    formatDateTime(Date.parse(entry.at)),
    entry.runId ?? '–',
    // The engine is missing in the name, because the audit log does not record it.
    visibleLine(runName({ roleId: entry.roleId, subagent: entry.subagent ?? null, engine: '–' })),
    entry.decision === 'denied' ? style.red('denied') : 'allowed',
    visibleLine(entry.kind),
    visibleLine(entry.server === null ? entry.name : `${entry.server}/${entry.name}`),
    visibleLine(entry.outcome) + (entry.count === undefined ? '' : ` ×${entry.count}`),
    entry.durationMs === undefined ? '–' : `${Math.round(entry.durationMs)}ms`,
  ]);
  return formatTable(
    [
      { title: 'when' },
      { title: 'run' },
      { title: 'role', shrinkTo: 8 },
      { title: 'decision' },
      { title: 'kind', shrinkTo: 8 },
      { title: 'what', shrinkTo: 8 },
      { title: 'outcome', shrinkTo: 8 },
      { title: 'took', align: 'right' },
    ],
    rows,
    out.columns,
    style,
  );
}

function verdictLines({ problem, entries, files, lastHash }: AuditVerdict, { style }: CliContext): string[] {
  if (problem)
    return [
      `${style.red('broken')}: ${problem.what} at line ${problem.line} of ${visibleLine(problem.file)}, where entry ${problem.seq} should be`,
      problem.message,
      `${entries} entries before it are in order.`,
    ];
  if (lastHash === null) return ['The audit log is empty.'];
  return [
    `${style.green('in order')}: ${entries} entries in ${files === 1 ? 'one file' : `${files} files`}`,
    `last hash ${lastHash}`,
  ];
}
