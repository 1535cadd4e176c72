import { SquadError } from '../../schema/error.ts';
import type { Permission } from '../../schema/run.ts';
import type { Isolation } from '../../schema/worktree.ts';
import type { CliContext } from '../context.ts';
import { dollars } from '../cost/dollars.ts';
import { milliseconds } from '../milliseconds.ts';
import { readInput } from '../read-input.ts';
import type { TellOptions } from './run-teller.ts';
import { startAndWatch } from './start-and-watch.ts';

export interface RunOptions extends TellOptions {
  cwd?: string;
  engine?: string;
  model?: string;
  permission?: Permission;
  worktree?: boolean;
  budget?: string;
  timeout?: string;
  chat?: string;
  detach?: boolean;
}

export interface MemberInput {
  roleId: string;
  task: string;
  cwd?: string;
  chatId?: string;
}

export interface SquadInput {
  members: MemberInput[];
  engine?: string;
  model?: string;
  permission?: Permission;
  isolation?: Isolation;
  budgetUsd?: number;
  timeoutMs?: number;
}

/** `squad run ROLE "task" [ROLE "task" …]` */
export async function runCommand(words: string[], options: RunOptions, context: CliContext): Promise<number> {
  const { engine, model, permission, worktree, budget, timeout, chat, detach } = options;
  const { only, quiet, group } = options;
  const request: SquadInput = {
    members: await membersFrom(words, options),
    engine,
    model,
    permission,
    ...(worktree !== undefined && { isolation: worktree ? 'worktree' : 'none' }),
    ...(budget !== undefined && { budgetUsd: dollars('--budget', budget) }),
    ...(timeout !== undefined && { timeoutMs: milliseconds('--timeout', timeout) }),
  };
  const env: Record<string, string> = chat === undefined ? {} : { STATE_MODE: 'stateful' };
  return startAndWatch(
    { operation: 'start_squad', input: request, env, detach, tell: { only, quiet, group } },
    context,
  );
}

async function membersFrom(words: string[], { cwd, chat }: RunOptions): Promise<MemberInput[]> {
  if (words.length === 0 || words.length % 2 !== 0)
    throw new SquadError(
      'INVALID_INPUT',
      `\`squad run\` takes pairs of a role and a task; this is ${words.length} ${words.length === 1 ? 'word' : 'words'}`,
      {
        suggestions: [
          'squad run coder "Fix the failing test"',
          'squad roles   shows the roles',
          'Put the task in quotes, or - to read it from standard input.',
        ],
      },
    );
  const members: MemberInput[] = [];
  for (let i = 0; i < words.length; i += 2) {
    const task = words[i + 1] === '-' ? await readInput() : words[i + 1]!;
    members.push({
      roleId: words[i]!,
      task,
      ...(cwd !== undefined && { cwd }),
      ...(chat !== undefined && { chatId: chat }),
    });
  }
  return members;
}
