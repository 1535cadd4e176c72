import { visibleLine, visibleText } from '../../base/visible-text.ts';
import type { ChecklistItem, IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import type { CliContext } from '../context.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/wrap.ts';

type Look = Pick<CliContext, 'out' | 'style'>;

const CHECK_LINES = 20;

/** What merging comes to, for people: the branches in their order, what stands against it, and the checklist. */
export function integrationLines(plan: IntegrationPlan, { out, style }: Look): string[] {
  const { target, from, folder, branches, leftOut, warnings, checklist } = plan;
  const left = leftOut.flatMap(({ runId, why }) =>
    wrap(`left out  ${runId}: ${visibleLine(why)}`, out.columns).map(style.dim),
  );
  if (target === null || from === null || branches.length === 0)
    return ['There is nothing to integrate.', ...left];
  const where = folder === null ? 'checked out nowhere' : `checked out at ${visibleLine(folder)}`;
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

/** Other branches by their numbers in the table. */
function details(
  { runId, conflicts, messages, commitsWork, overlaps }: PlannedBranch,
  branches: readonly PlannedBranch[],
  { out, style }: Look,
): string[] {
  const numbers = overlaps.map(id => branches.findIndex(other => other.runId === id) + 1);
  const said = [
    ...(conflicts.length > 0 ? [`conflicts in ${conflicts.map(visibleLine).join(', ')}`] : []),
    ...messages.filter(message => !isPlain(message, conflicts)).map(visibleLine),
    ...(commitsWork ? ['what it left uncommitted is committed to its branch first'] : []),
    ...(numbers.length > 0 ? [`shares files with ${listed(numbers.toSorted((a, b) => a - b))}`] : []),
  ];
  return said
    .flatMap(line => wrap(`${runId}: ${line}`, out.columns - INDENT.length))
    .map(line => INDENT + line.replace(`${runId}: `, style.dim(`${runId}: `)));
}

/** Says only that lines of a file differ on both sides, which its name under "conflicts in" says already. */
const isPlain = (message: string, conflicts: readonly string[]): boolean =>
  conflicts.some(
    file => /^CONFLICT \((content|add\/add)\): Merge conflict in (.*)$/s.exec(message.trim())?.[2] === file,
  );

const MOST_NUMBERS = 8;

function listed(numbers: readonly number[]): string {
  const more = numbers.length - MOST_NUMBERS;
  const shown = numbers.slice(0, MOST_NUMBERS).map(number => `#${number}`);
  return shown.join(' ') + (more > 0 ? ` and ${more} more` : '');
}

const MARKS: Record<ChecklistItem['state'], string> = { ok: '✓', bad: '✗', open: '–' };

function checklistLine({ what, state, note }: ChecklistItem, { green, red, dim }: Style): string {
  const paint = state === 'ok' ? green : state === 'bad' ? red : dim;
  return `${paint(MARKS[state])} ${what}${note === null ? '' : dim(` (${visibleLine(note)})`)}`;
}

/** The end of what the check said, unless it had nothing against it. */
function checkLines({ check }: IntegrationPlan, { dim }: Style): string[] {
  if (!check || check.outcome === 'not_run') return [];
  const took = check.durationMs === null ? '' : ` took ${formatDuration(check.durationMs)}`;
  const head = dim(`  ${visibleLine(asTyped(check.command))}${took}`);
  if (check.outcome === 'passed') return [head];
  const output = visibleText(check.output).trimEnd().split('\n').slice(-CHECK_LINES);
  return [head, ...output.map(line => `  ${line}`)];
}

/** A command for a shell is what the user typed. */
const asTyped = (command: readonly string[]): string =>
  command[0] === '/bin/sh' && command[1] === '-c' ? (command[2] ?? '') : command.join(' ');
