import type { ShownRun } from './shown-run.ts';

const MAX_TITLE_LENGTH = 160;

export function runTitle({ title: given, task }: ShownRun['run']): string {
  const line = (given ?? task).trim().split('\n', 1)[0] ?? '';
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…` : line;
}
