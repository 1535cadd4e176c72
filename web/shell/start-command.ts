/** The same run, for a shell: every value one argument, whatever is in it. */
export function startCommand(role: string, task: string, folder: string): string {
  return `squad run ${quoted(role || 'coder')} ${quoted(task || 'Task')} --workspace ${quoted(folder || '.')}`;
}

function quoted(value: string): string {
  return /^[\w./:@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
