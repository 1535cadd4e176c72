/** What can be said about a run beside its task; left out: as the role and the project say. */
export interface StartChoices {
  engine?: string;
  model?: string;
  permission?: 'read' | 'edit' | 'full';
  budgetUsd?: number;
  isolation?: 'worktree';
}

/** The same run, for a shell: every value one argument, whatever is in it. */
export function startCommand(
  role: string,
  task: string,
  folder: string,
  { engine, model, permission, budgetUsd, isolation }: StartChoices = {},
): string {
  return [
    ...['squad run', quoted(role || 'coder'), quoted(task || 'Task'), '--workspace', quoted(folder || '.')],
    ...(engine ? ['--engine', quoted(engine)] : []),
    ...(model ? ['--model', quoted(model)] : []),
    ...(permission ? ['--permission', permission] : []),
    ...(budgetUsd ? ['--budget', String(budgetUsd)] : []),
    ...(isolation ? ['--worktree'] : []),
  ].join(' ');
}

function quoted(value: string): string {
  return /^[\w./:@%+=][\w./:@%+=-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
