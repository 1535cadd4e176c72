import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { exitCodeOf, SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { ChecklistItem, IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import { confirmWithUser, requireRepository } from '../arguments.ts';
import { type CliContext, print, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import { displayWidth, wrap } from '../terminal/width.ts';

type Screen = Pick<CliContext, 'out' | 'style'>;

const CHECK_LINES = 20;

/** The merge plan: branches in merge order, obstacles, and the checklist. */
export function integrationLines(plan: IntegrationPlan, { out, style }: Screen): string[] {
  const { target, from, folder, branches, leftOut, warnings, checklist } = plan;
  const left = leftOut.flatMap(({ runId, why, canBeNamed }) => {
    const reason = `${visibleLine(why)}${canBeNamed ? ': name it to merge it anyway' : ''}`;
    return wrap(`skipped  ${runId}: ${reason}`, out.columns).map(style.dim);
  });
  if (target === null || from === null || branches.length === 0) return ['Nothing to integrate.', ...left];
  const where = folder === null ? 'not checked out' : `checked out at ${visibleLine(folder)}`;
  const columns = [
    { title: '#', align: 'right' as const },
    { title: 'run' },
    { title: 'role', shrinkTo: 8 },
    { title: 'files', align: 'right' as const },
    { title: 'state', shrinkTo: 12 },
    { title: 'task', shrinkTo: 0 },
  ];
  const rows = branches.map((branch, at) => [
    String(at + 1),
    branch.runId,
    style.role(branch.name, visibleLine(branch.name)),
    branch.files === null ? '–' : String(branch.files),
    stateOf(branch, style),
    visibleLine(branch.summary),
  ]);
  return [
    `Into ${style.bold(visibleLine(target))} at ${from.slice(0, 10)}, ${where}:`,
    '',
    ...formatTable(columns, rows, out.columns, style),
    ...branches.flatMap(branch => details(branch, branches, { out, style })),
    '',
    ...left,
    ...warnings.flatMap(warning => wrap(`warning  ${visibleLine(warning)}`, out.columns).map(style.yellow)),
    ...checklist.map(item => checklistLine(item, style)),
    ...checkLines(plan, style),
  ];
}

const STATES: Record<PlannedBranch['outcome'], string> = {
  merges: 'merges',
  conflict: 'conflict',
  nothing: 'nothing to merge',
  refused: 'refused',
};

function stateOf({ outcome }: PlannedBranch, { green, red, dim }: Style): string {
  const paint = outcome === 'merges' ? green : outcome === 'nothing' ? dim : red;
  return paint(STATES[outcome]);
}

const INDENT = '   ';

/** Details of a branch. Other branches are named by their numbers in the table. */
function details(
  { runId, conflicts, messages, commitsWork, overlaps }: PlannedBranch,
  branches: readonly PlannedBranch[],
  { out, style }: Screen,
): string[] {
  const numbers = overlaps.map(id => branches.findIndex(other => other.runId === id) + 1);
  const lines = [
    ...(conflicts.length > 0 ? [`conflicts in ${conflicts.map(visibleLine).join(', ')}`] : []),
    ...messages.filter(message => !isPlain(message, conflicts)).map(visibleLine),
    ...(commitsWork ? ['its uncommitted changes are committed to its branch first'] : []),
    ...(numbers.length > 0 ? [`shares files with ${listed(numbers.toSorted((a, b) => a - b))}`] : []),
  ];
  return lines
    .flatMap(line => wrap(`${runId}: ${line}`, out.columns - INDENT.length))
    .map(line => INDENT + line.replace(`${runId}: `, style.dim(`${runId}: `)));
}

/** Whether a message only names a conflicting file, which the line "conflicts in" already does. */
const isPlain = (message: string, conflicts: readonly string[]): boolean =>
  conflicts.some(
    file => /^CONFLICT \((content|add\/add)\): Merge conflict in (.*)$/s.exec(message.trim())?.[2] === file,
  );

const MAX_NUMBERS = 8;

function listed(numbers: readonly number[]): string {
  const more = numbers.length - MAX_NUMBERS;
  const shown = numbers.slice(0, MAX_NUMBERS).map(number => `#${number}`);
  return shown.join(' ') + (more > 0 ? ` and ${more} more` : '');
}

const MARKS: Record<ChecklistItem['state'], string> = { ok: '✓', bad: '✗', open: '–' };

function checklistLine({ what, state, note }: ChecklistItem, { green, red, dim }: Style): string {
  const paint = state === 'ok' ? green : state === 'bad' ? red : dim;
  return `${paint(MARKS[state])} ${what}${note === null ? '' : dim(` (${visibleLine(note)})`)}`;
}

/** The command of the check and, if it failed, the end of its output. */
function checkLines({ check }: IntegrationPlan, { dim }: Style): string[] {
  if (!check || check.outcome === 'not_run') return [];
  const took = check.durationMs === null ? '' : ` took ${formatDuration(check.durationMs)}`;
  const head = dim(`  ${visibleLine(asTyped(check.command))}${took}`);
  if (check.outcome === 'passed') return [head];
  const output = visibleText(check.output).trimEnd().split('\n').slice(-CHECK_LINES);
  return [head, ...output.map(line => `  ${line}`)];
}

/** The command as the user typed it, without the shell around it. */
const asTyped = (command: readonly string[]): string =>
  command[0] === '/bin/sh' && command[1] === '-c' ? (command[2] ?? '') : command.join(' ');

type Integrated = Output<'integrate'>;

interface IntegrateOptions {
  into?: string;
  /** Value of `--check`. False with `--no-check`. */
  check?: string | boolean;
  checkTimeout?: number;
  order?: 'suggested' | 'given';
  yes?: boolean;
  dryRun?: boolean;
  remove?: boolean;
}

/** `squad integrate [RUN…]`: shows the merge plan, and carries out exactly that plan after confirmation. */
export async function integrateCommand(
  ids: string[],
  { into, check, checkTimeout, order, yes, dryRun = false, remove = false }: IntegrateOptions,
  context: CliContext,
): Promise<number> {
  using client = await HubClient.start({ workspace: context.workspace });
  const onProgress = (message: string) => {
    if (context.err.isTTY) printNotes(context, [`${message}…`], 'dim');
  };
  const input = {
    ids,
    into,
    order,
    ...(check !== true && { check }),
    checkTimeoutMs: checkTimeout,
    runsCheck: !dryRun,
  };
  const plan = await client.call('plan_integration', input, { onProgress });
  if (plan.branches.length === 0 && plan.leftOut.length === 0) await requireRepository(context);
  if (!context.json) print(context, integrationLines(plan, context));
  if (dryRun || plan.planId === null) return unmerged(plan, { dryRun, isNamed: ids.length > 0 }, context);
  const count = plan.branches.filter(({ outcome }) => outcome === 'merges').length;
  const question = `Merge ${branches(count)} into ${visibleLine(plan.target ?? '')}?`;
  if (!yes && !(await confirmWithUser(question, 'To merge without asking: squad integrate --yes', context))) {
    print(context, ['Nothing was merged.']);
    return EXIT.needsInput;
  }
  const done = await client.call('integrate', { approve: plan.planId, remove });
  printResult(context, { plan, integrated: done }, () => doneLines(done, context));
  return isComplete(plan, ids.length > 0) ? EXIT.done : EXIT.failed;
}

/** Reports why the plan is not carried out: it was a dry run, or there is nothing to merge. */
function unmerged(
  plan: IntegrationPlan,
  { dryRun, isNamed }: { dryRun: boolean; isNamed: boolean },
  context: CliContext,
): number {
  const { blocked } = plan;
  if (context.json) printJson(context.out, { plan, integrated: null });
  else if (blocked && !dryRun)
    throw new SquadError(blocked.code, `${visibleLine(blocked.message)}. Nothing was merged.`, {
      suggestions: blocked.suggestions.map(visibleLine),
    });
  if (blocked) return exitCodeOf(blocked.code);
  return isComplete(plan, isNamed) ? EXIT.done : EXIT.failed;
}

/** Whether every branch can be merged: none conflicts or is refused, and no named run is skipped. */
const isComplete = ({ branches: all, leftOut }: IntegrationPlan, isNamed: boolean) =>
  all.every(({ outcome }) => outcome === 'merges' || outcome === 'nothing') &&
  !(isNamed && leftOut.length > 0);
const branches = (count: number) => (count === 1 ? '1 branch' : `${count} branches`);

function doneLines({ target, to, merged, removed, notes }: Integrated, { style }: CliContext): string[] {
  const kept = removed.filter(each => each.kept !== null);
  return [
    `${style.green('Merged')} ${branches(merged.length)} into ${visibleLine(target)}, now at ${to.slice(0, 10)}.`,
    ...(removed.length > kept.length
      ? [`Removed ${removed.length - kept.length} of their work trees; the branches remain.`]
      : []),
    ...kept.map(({ path, kept: why }) =>
      style.yellow(`Kept ${visibleLine(path)}: ${visibleLine(why ?? '')}`),
    ),
    ...notes.map(note => style.yellow(visibleLine(note))),
  ];
}

const OVERLAP_INDENT = '  ';

type Found = Output<'find_overlap'>;

/** `squad overlap`: shows which work trees changed the same files. */
export async function overlapCommand(context: CliContext): Promise<number> {
  const found = await HubClient.ask({ workspace: context.workspace }, 'find_overlap');
  if (found.runs.length === 0) await requireRepository(context);
  return printResult(context, found, () => lines(found, context));
}

function lines({ runs, files, moreFiles }: Found, { out, style }: CliContext): string[] {
  const unknown = runs.filter(({ why }) => why !== null);
  const trees = runs.length === 1 ? '1 work tree has' : `${runs.length} work trees have`;
  const about = runs.length === 0 ? 'No work tree has changes.' : `${trees} unmerged changes.`;
  const unreadable = unknown.map(({ runId, why }) =>
    style.yellow(`${runId} could not be checked: ${visibleLine(why ?? '')}`),
  );
  if (files.length === 0) return [`No overlap. ${about}`, ...unreadable];
  const nameOf = new Map(runs.map(({ runId, name }) => [runId, name]));
  const who = (id: RunId) => {
    const name = nameOf.get(id) ?? '';
    return `${id} ${style.role(name, visibleLine(name))}`;
  };
  return [
    ...files.flatMap(({ path, runs: ids }) => [
      style.bold(visibleLine(path)),
      ...packed(ids.map(who), out.columns - OVERLAP_INDENT.length).map(line => OVERLAP_INDENT + line),
    ]),
    ...(moreFiles > 0 ? [style.dim(`and ${moreFiles} more ${moreFiles === 1 ? 'file' : 'files'}`)] : []),
    '',
    ...unreadable,
    style.dim(withOwnCommand('`squad integrate --dry-run` shows whether they conflict.')),
  ];
}

/** Joins entries into lines of at most `width` columns. */
function packed(entries: string[], width: number): string[] {
  const lines: string[] = [];
  for (const entry of entries) {
    const longer = lines.length > 0 ? `${lines.at(-1)}, ${entry}` : entry;
    if (lines.length > 0 && displayWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(entry);
  }
  return lines;
}
