import { shellWord } from '../../src/schema/shell-word.ts';

/** Options of a run; missing ones come from the role and the project. */
export interface StartChoices {
  engine?: string;
  model?: string;
  permission?: 'read' | 'edit' | 'full';
  sandbox?: 'off' | 'workspace' | 'strict';
  budgetUsd?: number;
  isolation?: 'worktree';
  /** Name of another machine, or a label. */
  machine?: string;
}

/** One agent of a squad. */
export interface StartMember {
  roleId: string;
  task: string;
  engine?: string;
  budgetUsd?: number;
  isolation?: 'worktree';
  /** Key of the backlog item that the run works on. */
  backlog?: string;
  /** True if the user starts the item again although it was started before. */
  isAgain?: boolean;
}

/** A squad to start again. */
export interface StartedLike {
  name: string;
  folder: string;
  members: StartMember[];
}

/** The command that starts the same runs, with every value quoted as one argument. */
export function startCommand(
  members: readonly StartMember[],
  folder: string,
  { engine, model, permission, sandbox, budgetUsd, isolation, machine }: StartChoices = {},
  name = '',
): string {
  return [
    'squad run',
    ...members.flatMap(({ roleId, task }) => [shellWord(roleId || 'coder'), shellWord(task || 'Task')]),
    ...['--workspace', shellWord(folder || '.')],
    ...(name ? ['--name', shellWord(name)] : []),
    ...(engine ? ['--engine', shellWord(engine)] : []),
    ...(model ? ['--model', shellWord(model)] : []),
    ...(permission ? ['--permission', permission] : []),
    ...(sandbox ? ['--sandbox', sandbox] : []),
    ...(budgetUsd ? ['--budget', String(budgetUsd)] : []),
    ...(isolation ? ['--worktree'] : []),
    ...(machine ? ['--on', shellWord(machine)] : []),
  ].join(' ');
}
