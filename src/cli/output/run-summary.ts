import type { RunStatus } from '../../schema/run.ts';
import { formatDuration } from './duration.ts';
import { evidenceInBrief } from './evidence-words.ts';
import { costOf, formatCost, formatTokens, formatUsage, tokensOf, totalOf } from './figures.ts';
import { labelWidth, reasonOf } from './run-lines.ts';
import type { RunView } from './run-view.ts';
import { countByStatus, isFailure, paintStatus, statusWord } from './status-word.ts';
import type { Style } from './style.ts';
import { type Column, formatTable } from './table.ts';
import { displayWidth, padEnd, truncate } from './width.ts';

const UNKNOWN = '–';
const FIGURES: Column[] = [
  { title: 'tokens', align: 'right' },
  { title: 'cost', align: 'right' },
];

/** The last words: what each run came to, the whole, and what to type next. */
export function summaryLines(runs: RunView[], columns: number, style: Style): string[] {
  if (runs.length === 0) return [];
  const width = labelWidth(runs);
  // Engines that report nothing leave the room to those columns that say something.
  const hasFigures = runs.some(run => run.usage !== null);
  const hasEvidence = runs.some(run => run.evidence !== null);
  const rows = runs.map(run => {
    const tokens = tokensOf(run.usage);
    const cost = run.usage?.costUsd ?? null;
    const figures = [
      tokens === null ? UNKNOWN : formatTokens(tokens),
      cost === null ? UNKNOWN : formatCost(cost, run.usage?.costIsEstimated),
    ];
    return [
      style.role(run.roleId, truncate(run.label, width)),
      paintStatus(run.status, statusWord(run.status), style),
      ...(hasEvidence ? [evidenceInBrief(run.evidence, style) || UNKNOWN] : []),
      run.durationMs === null ? UNKNOWN : formatDuration(run.durationMs),
      ...(hasFigures ? figures : []),
      run.id,
      isFailure(run.status) ? reasonOf(run) : '',
    ];
  });
  const table = formatTable(
    [
      { title: 'role', shrinkTo: 8 },
      { title: 'result' },
      ...(hasEvidence ? [{ title: 'evidence', shrinkTo: 8 }] : []),
      { title: 'time', align: 'right' },
      ...(hasFigures ? FIGURES : []),
      { title: 'run' },
      { title: '', shrinkTo: 0 },
    ],
    rows,
    columns,
    style,
  );
  return ['', ...table, '', whole(runs, style), ...nextCommands(runs, columns, style)];
}

function whole(runs: RunView[], style: Style): string {
  const usage = formatUsage(
    totalOf(runs.map(run => tokensOf(run.usage))),
    costOf(runs.map(run => run.usage)),
  );
  const from = Math.min(...runs.flatMap(run => run.startedAt ?? []));
  const to = Math.max(...runs.flatMap(run => run.endedAt ?? []));
  const took = Number.isFinite(to - from) ? [formatDuration(to - from)] : [];
  return [
    countByStatus(
      runs.map(run => run.status),
      style,
    ),
    ...took,
    ...usage,
  ].join(style.dim(' · '));
}

/** At most three, the ones that help most first. */
function nextCommands(runs: RunView[], columns: number, style: Style): string[] {
  const of = (wanted: (status: RunStatus) => boolean) => runs.filter(run => wanted(run.status));
  const commands: [string, string][] = [
    ...of(isFailure).map((run): [string, string] => [
      `squad log ${run.id}`,
      `why ${run.label} ${past(run.status)}`,
    ]),
    ...of(status => status === 'completed').map((run): [string, string] => [
      `squad show ${run.id}`,
      `what ${run.label} reported`,
    ]),
    ...runs
      .filter(run => (run.evidence?.filesChanged?.count ?? 0) > 0)
      .map((run): [string, string] => [`squad diff ${run.id}`, `what changed while ${run.label} worked`]),
    ...of(status => status === 'running' || status === 'queued').map((run): [string, string] => [
      `squad log -f ${run.id}`,
      `follow ${run.label}`,
    ]),
  ];
  const shown = commands.slice(0, 3);
  const width = Math.max(0, ...shown.map(([command]) => displayWidth(command)));
  return shown.map(([command, what]) => truncate(`  ${padEnd(command, width)}  ${style.dim(what)}`, columns));
}

const past = (status: RunStatus) =>
  status === 'timeout' ? 'ran out of time' : status === 'lost' ? 'was lost' : 'failed';
