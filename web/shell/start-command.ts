import { shellWord } from '../../src/schema/shell-word.ts';
/** Options of a run; missing ones come from the role and the project. */
export interface StartChoices {
  engine?: string;
  model?: string;
  permission?: 'read' | 'edit' | 'full';
  sandbox?: 'off' | 'workspace' | 'strict';
  budgetUsd?: number;
  isolation?: 'worktree';
}

/** The command that starts the same run, with every value quoted as one argument. */
export function startCommand(
  role: string,
  task: string,
  folder: string,
  { engine, model, permission, sandbox, budgetUsd, isolation }: StartChoices = {},
): string {
  return [
    ...[
      'squad run',
      shellWord(role || 'coder'),
      shellWord(task || 'Task'),
      '--workspace',
      shellWord(folder || '.'),
    ],
    ...(engine ? ['--engine', shellWord(engine)] : []),
    ...(model ? ['--model', shellWord(model)] : []),
    ...(permission ? ['--permission', permission] : []),
    ...(sandbox ? ['--sandbox', sandbox] : []),
    ...(budgetUsd ? ['--budget', String(budgetUsd)] : []),
    ...(isolation ? ['--worktree'] : []),
  ].join(' ');
}
