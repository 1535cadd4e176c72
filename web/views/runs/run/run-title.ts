import type { ShownRun } from './shown-run.ts';

const LONGEST_TITLE = 160;

export function runTitle({ title: given, task }: ShownRun['run']): string {
  const line = (given ?? task).trim().split('\n', 1)[0] ?? '';
  return line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE - 1).toWellFormed()}…` : line;
}
