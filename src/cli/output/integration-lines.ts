import type { ChecklistItem, IntegrationPlan, PlannedBranch } from '../../schema/integration.ts';
import type { CliContext } from '../context.ts';
import { formatDuration } from './duration.ts';
import { oneLine, sanitize } from './sanitize.ts';
import type { Style } from './style.ts';
import { formatTable } from './table.ts';

type Look = Pick<CliContext, 'out' | 'style'>;

const CHECK_LINES = 20;

/** What merging comes to, for people: the branches in their order, what stands against it, and the checklist. */
export function integrationLines(plan: IntegrationPlan, { out, style }: Look): string[] {
  const { target, from, folder, branches, leftOut, warnings, checklist } = plan;
  const left = leftOut.map(({ runId, why }) => style.dim(`left out  ${runId}: ${oneLine(why)}`));
  if (target === null || from === null || branches.length === 0)
    return ['There is nothing to integrate.', ...left];
  const where = folder === null ? 'checked out nowhere' : `checked out at ${oneLine(folder)}`;
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
    style.role(branch.name, oneLine(branch.name)),
    branch.files === null ? '–' : String(branch.files),
    stateOf(branch, style),
    oneLine(branch.summary),
  ]);
  return [
    `Into ${style.bold(oneLine(target))} at ${from.slice(0, 10)}, ${where}:`,
    '',
    ...formatTable(columns, rows, out.columns, style),
    ...branches.flatMap(branch => details(branch, style)),
    '',
    ...left,
    ...warnings.map(warning => style.yellow(`warning  ${oneLine(warning)}`)),
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

function details(
  { runId, conflicts, messages, commitsWork, overlaps }: PlannedBranch,
  style: Style,
): string[] {
  const said = [
    ...(conflicts.length > 0 ? [`conflicts in ${conflicts.map(oneLine).join(', ')}`] : []),
    ...messages.map(oneLine),
    ...(commitsWork ? ['what it left uncommitted is committed to its branch first'] : []),
    ...(overlaps.length > 0 ? [`shares files with ${overlaps.join(', ')}`] : []),
  ];
  return said.map(line => `   ${style.dim(`${runId}: `)}${line}`);
}

const MARKS: Record<ChecklistItem['state'], string> = { ok: '✓', bad: '✗', open: '–' };

function checklistLine({ what, state, note }: ChecklistItem, { green, red, dim }: Style): string {
  const paint = state === 'ok' ? green : state === 'bad' ? red : dim;
  return `${paint(MARKS[state])} ${what}${note === null ? '' : dim(` (${oneLine(note)})`)}`;
}

/** The end of what the check said, unless it had nothing against it. */
function checkLines({ check }: IntegrationPlan, { dim }: Style): string[] {
  if (!check || check.outcome === 'not_run') return [];
  const took = check.durationMs === null ? '' : ` took ${formatDuration(check.durationMs)}`;
  const head = dim(`  ${oneLine(asTyped(check.command))}${took}`);
  if (check.outcome === 'passed') return [head];
  const output = sanitize(check.output).trimEnd().split('\n').slice(-CHECK_LINES);
  return [head, ...output.map(line => `  ${line}`)];
}

/** A command for a shell is what the user typed. */
const asTyped = (command: readonly string[]): string =>
  command[0] === '/bin/sh' && command[1] === '-c' ? (command[2] ?? '') : command.join(' ');
