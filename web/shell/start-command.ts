import type { Output } from '../../src/operations/operations.ts';
import { shellWord } from '../../src/schema/shell-word.ts';

/** Options of a run; missing ones come from the role and the project. */
export interface StartChoices {
  engine?: string;
  model?: string;
  permission?: 'read' | 'edit' | 'full';
  sandbox?: 'off' | 'workspace' | 'strict';
  budgetUsd?: number;
  isolation?: 'worktree' | 'none';
  /** Name of another machine, or a label. */
  machine?: string;
}

/** One agent of a squad. */
export interface StartMember {
  roleId: string;
  task: string;
  engine?: string;
  budgetUsd?: number;
  isolation?: 'worktree' | 'none';
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
  choices: StartChoices;
}

const OWN = ['engine', 'budgetUsd', 'isolation'] as const;
const SHARED = ['model', 'permission', 'sandbox', 'machine'] as const;

/** The members of a squad with their options. Options that all of them have are choices for the whole squad. */
export function likeSquad({ name, workspace, members }: Output<'show_squad_request'>): StartedLike {
  const [first] = members;
  const isSame = (key: (typeof OWN)[number] | (typeof SHARED)[number]) =>
    members.every(member => member[key] === first?.[key]);
  const of = <K extends keyof (typeof members)[number]>(from: (typeof members)[number], keys: readonly K[]) =>
    Object.fromEntries(keys.flatMap(key => (from[key] == null ? [] : [[key, from[key]]])));
  return {
    name: name ?? '',
    folder: workspace,
    members: members.map(member => ({
      ...{ roleId: member.roleId ?? '', task: member.task },
      ...of(
        member,
        OWN.filter(key => !isSame(key)),
      ),
    })),
    choices: first ? of(first, [...OWN, ...SHARED].filter(isSame)) : {},
  };
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
    ...(isolation ? [isolation === 'worktree' ? '--worktree' : '--no-worktree'] : []),
    ...(machine ? ['--on', shellWord(machine)] : []),
  ].join(' ');
}
