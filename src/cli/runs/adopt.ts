import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import type { Permission } from '../../schema/run.ts';
import type { SandboxLevel } from '../../schema/sandbox.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { readInput } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';
import { startAndWatch } from './run.ts';

export interface AdoptOptions {
  all?: boolean;
  limit: number;
  fork?: boolean;
  role?: string;
  model?: string;
  permission?: Permission;
  sandbox?: SandboxLevel;
  budget?: number;
  timeout?: number;
  detach?: boolean;
}

/** `squad adopt`: lists the chats of this folder. `squad adopt CHAT "TASK"`: continues one of them. */
export async function adoptCommand(
  chat: string | undefined,
  given: string | undefined,
  options: AdoptOptions,
  context: CliContext,
): Promise<number> {
  if (chat === undefined) return listCommand(options, context);
  if (given === undefined)
    throw new SquadError('INVALID_INPUT', `What should the agent do in the chat ${chat}?`, {
      suggestions: [`squad adopt ${shellWord(chat)} "TASK"`, 'Or use - to read the task from stdin.'],
    });
  const text = given === '-' ? await readInput() : given;
  const { fork, role, model, permission, sandbox, budget, timeout, detach } = options;
  const input = { chat, text, fork, role, model, permission, sandbox, budgetUsd: budget, timeoutMs: timeout };
  return startAndWatch({ operation: 'adopt_chat', input, detach }, context);
}

async function listCommand(
  { all, limit }: Pick<AdoptOptions, 'all' | 'limit'>,
  context: CliContext,
): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_chats', { all, limit });
  printNotes(context, listed.notes);
  return printResult(context, listed, () => lines(listed, context));
}

function lines({ folder, chats, more, ofRuns }: Output<'list_chats'>, { out, style }: CliContext): string[] {
  const now = Date.now();
  const rows = chats.map(({ short, engine, changedAt, openIn, run, title }) => [
    visibleLine(short),
    engine,
    `${formatElapsed(now - changedAt)} ago`,
    openIn !== null ? style.yellow(`open in ${openIn.pid}`) : (run ?? '–'),
    visibleLine(title ?? '–'),
  ]);
  const columns = [
    ...['chat', 'engine', 'changed'].map(title => ({ title })),
    { title: 'used by', shrinkTo: 7 },
    { title: 'first prompt or title', shrinkTo: 12 },
  ];
  const hints = [
    ...(more > 0 ? [`${more} more: --limit N lists up to 1000`] : []),
    ...(ofRuns > 0 ? [withOwnCommand(`${ofRuns} begun by runs: \`squad adopt --all\` lists them too`)] : []),
    ...(chats.length > 0 ? [withOwnCommand('Continue one: squad adopt CHAT "TASK"')] : []),
  ];
  return [
    ...(chats.length > 0
      ? formatTable(columns, rows, out.columns, style)
      : wrap(`No agent CLI keeps a chat for ${visibleLine(folder)}.`, out.columns)),
    ...hints.flatMap(hint => wrap(hint, out.columns)).map(style.dim),
  ];
}
