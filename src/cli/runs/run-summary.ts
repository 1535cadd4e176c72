import { visibleLine } from '../../base/text.ts';
import type { RunStatus, ShownRun } from '../../schema/run.ts';
import { isAtReviewLimit, shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, print } from '../context.ts';
import { costOf, formatCost, formatTokens, formatUsage, tokensOf, totalOf } from '../cost/figures.ts';
import { evidenceInBrief } from '../evidence/evidence-text.ts';
import type { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { countByStatus, isFailure, paintStatus } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { displayWidth, padEnd, truncate, wrap } from '../terminal/width.ts';
import { type Logins, loginHints, nextStep, whyCommand } from './next-step.ts';
import { labelWidth, reasonOf } from './run-lines.ts';
import type { RunView, RunViews } from './run-view.ts';

const UNKNOWN = '–';
const FIGURES: Column[] = [
  { title: 'tokens', align: 'right' },
  { title: 'cost', align: 'right' },
];

/** The summary at the end: the result of each run, the totals, and the next commands. */
export function summaryLines(
  runs: RunView[],
  columns: number,
  style: Style,
  logins: Logins = new Map(),
): string[] {
  if (runs.length === 0) return [];
  const width = labelWidth(runs);
  // Columns without any reported value are left out.
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
      paintStatus(shownStatus(run), style),
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
  return [
    '',
    ...table,
    '',
    totalsLine(runs, style),
    ...noteLines(runs, columns, style),
    ...branchLines(runs, columns),
    ...nextSteps(runs, columns, logins),
    ...nextCommands(runs, columns, style),
  ];
}

function totalsLine(runs: RunView[], style: Style): string {
  const usage = formatUsage(
    totalOf(runs.map(run => tokensOf(run.usage))),
    costOf(runs.map(run => run.usage)),
  );
  const from = Math.min(...runs.flatMap(run => run.startedAt ?? []));
  const to = Math.max(...runs.flatMap(run => run.endedAt ?? []));
  const took = Number.isFinite(to - from) ? [formatDuration(to - from)] : [];
  // Lists only the levels of sandboxes. For a run without a sandbox, a note gives the reason.
  const levels = new Set(
    runs.flatMap(({ sandbox }) => (sandbox === null || sandbox === 'off' ? [] : sandbox)),
  );
  const sandbox = levels.size > 0 ? [`sandbox: ${[...levels].join(', ')}`] : [];
  return [countByStatus(runs.map(shownStatus), style), ...took, ...usage, ...sandbox].join(style.dim(' · '));
}

/** A note that several runs share is printed once. */
function noteLines(runs: RunView[], columns: number, style: Style): string[] {
  const notes = runs.flatMap(run => run.notes.map(note => ({ run, note: visibleLine(note) })));
  return [...Map.groupBy(notes, ({ note }) => note)].flatMap(([note, of]) => {
    const owner = of.length === runs.length ? '' : `${of.map(({ run }) => run.label).join(', ')}: `;
    return wrap(`${owner}${note}`, columns - 2).map(line => style.yellow(`  ${line}`));
  });
}

const hasChanged = ({ evidence }: RunView): boolean =>
  (evidence?.filesChanged?.count ?? 0) > 0 || (evidence?.commits?.count ?? 0) > 0;

/** Names the branches with the changes, because the user's own checkout does not have them. */
function branchLines(runs: RunView[], columns: number): string[] {
  const changed = runs.filter(run => run.branch !== null && hasChanged(run));
  const texts =
    changed.length > MAX_SEPARATE
      ? [
          withOwnCommand(
            `The changes of ${changed.length} runs are on separate branches: squad worktrees lists them.`,
          ),
        ]
      : changed.map(whereChangesAre);
  return texts.flatMap(text => wrap(text, columns - 2).map(line => `  ${line}`));
}

/**
 * Says where changes are. Uncommitted changes are named, because `git merge` finds nothing on a branch without commits,
 * while `squad integrate` commits them first.
 */
const whereChangesAre = ({ label, branch, evidence }: RunView): string =>
  evidence?.commits?.count === 0
    ? `The changes of ${label} are in the work tree of branch ${branch?.name}, not on the branch yet.`
    : `The changes of ${label} are on branch ${branch?.name}.`;

/** Next steps after failures, one for each kind of failure. */
function nextSteps(runs: RunView[], columns: number, logins: Logins): string[] {
  const failed = runs.filter(run => isFailure(run.status) || isAtReviewLimit(run));
  const kinds = Map.groupBy(failed, ({ engine, error }) => `${error?.code} ${engine}`);
  return [...kinds.values()].flatMap(([first, ...others]) => {
    const step = first && nextStep({ ...first, id: others.length === 0 ? first.id : 'RUN' }, logins);
    return step ? wrap(step, columns - 2).map(line => `  ${line}`) : [];
  });
}

const MAX_COMMANDS = 4;
/** Number of commands from which the same command for several runs is printed once. */
const MAX_SEPARATE = 3;

/** The most useful commands, best first. */
function nextCommands(runs: RunView[], columns: number, style: Style): string[] {
  const failed = Map.groupBy(
    runs.filter(run => isFailure(run.status)),
    run => whyCommand(run.engine),
  );
  const kinds: { of: RunView[]; command: string; what(run: RunView): string; each: string }[] = [
    ...[...failed].map(([command, of]) => ({
      of,
      command,
      what: (run: RunView) =>
        `why ${run.label} ${past(run.status)}${run.error ? ` (${run.error.code})` : ''}`,
      each: 'why each of them failed',
    })),
    {
      of: runs.filter(run => run.status === 'completed'),
      command: 'squad show',
      what: run => `what ${run.label} reported`,
      each: 'what each of them reported',
    },
    {
      of: runs.filter(run => run.status === 'abandoned'),
      command: 'squad show',
      what: run => `where the work of ${run.label} is`,
      each: 'where the work of each is',
    },
    {
      of: runs.filter(run => (run.evidence?.filesChanged?.count ?? 0) > 0),
      command: 'squad diff',
      what: run => `what changed while ${run.label} worked`,
      each: 'what changed while each of them worked',
    },
    {
      of: runs.filter(run => run.branch !== null && hasChanged(run)),
      command: 'squad integrate',
      what: ({ label, branch }) =>
        `merge the changes of ${label}${branch?.base ? ` into ${visibleLine(branch.base)}` : ''}`,
      each: 'merge the changes of one of them',
    },
    {
      of: runs.filter(run => run.status === 'running' || run.status === 'queued'),
      command: 'squad log -f',
      what: run => `follow ${run.label}`,
      each: 'follow one of them',
    },
  ];
  const count = kinds.reduce((sum, { of }) => sum + of.length, 0);
  const commands = kinds.flatMap(({ of, command, what, each }): [string, string][] =>
    count > MAX_SEPARATE && of.length > 1
      ? [[withOwnCommand(`${command} RUN`), each]]
      : of.map(run => [withOwnCommand(`${command} ${run.id}`), what(run)]),
  );
  const shown = commands.slice(0, MAX_COMMANDS);
  const width = Math.max(0, ...shown.map(([command]) => displayWidth(command)));
  return shown.map(([command, what]) => truncate(`  ${padEnd(command, width)}  ${style.dim(what)}`, columns));
}

const past = (status: RunStatus) =>
  status === 'timeout' ? 'timed out' : status === 'lost' ? 'was lost' : 'failed';

/** Prints the summary of these runs, with the evidence that Squad collected, and returns them. */
export async function printSummary(
  client: HubClient,
  ids: string[],
  views: RunViews,
  context: CliContext,
): Promise<ShownRun[]> {
  const { runs } = await client.call('find_runs', { ids });
  for (const run of runs) views.addFacts(run);
  const shown = views.list();
  const logins = await loginHints(
    client,
    shown.map(run => run.error),
  );
  print(context, summaryLines(shown, context.out.columns, context.style, logins));
  return runs;
}
