import { visibleText } from '../../base/text.ts';
import { definedVariables } from '../../link/handshake.ts';
import type { Input } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Permission } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import type { Isolation } from '../../schema/worktree.ts';
import { milliseconds, readInput } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { dollars } from '../cost/cost.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { pageOrigin } from '../hub/web-address.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { wrap } from '../terminal/width.ts';
import { follow } from './follow.ts';
import { RunReporter, type TellOptions } from './run-reporter.ts';
import { printSummary } from './run-summary.ts';
import { RunViews } from './run-view.ts';

type Starting = 'start_squad' | 'reply_to_run' | 'retry_runs';

interface Start<N extends Starting> {
  operation: N;
  input: Input<N>;
  /** On top of this program's own. */
  env?: Record<string, string>;
  /** Print the ids and leave. */
  detach?: boolean;
  tell?: TellOptions;
}

/** Asks for runs, by an operation that starts some, and shows them until they are over. */
export async function startAndWatch<N extends Starting>(
  { operation, input, env = {}, detach = false, tell = {} }: Start<N>,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({
    env: { ...definedVariables(process.env), ...env },
    workspace: context.workspace,
  });
  try {
    const { squadId, runIds, warnings } = await client.call(operation, input);
    for (const line of warnings.flatMap(warning => wrap(warning, context.err.columns)))
      context.err.write(`${context.style.yellow(line)}\n`);
    if (!detach) return await watch(client, { squadId, members: runIds.length, tell }, context);
    if (context.json) printJson(context.out, { squadId, runIds });
    else print(context, runIds);
    return EXIT.done;
  } finally {
    client.close();
  }
}

async function watch(
  client: HubClient,
  { squadId, members, tell }: { squadId: string; members: number; tell: TellOptions },
  context: CliContext,
): Promise<number> {
  const { json, style } = context;
  const views = new RunViews();
  const teller = new RunReporter(views, context, tell);
  teller.origin = await pageOrigin(client, context);
  const page = teller.origin === null ? '' : style.dim(` · ${teller.origin}/s/${squadId}`);
  if (!tell.quiet)
    teller.say(`${style.bold(squadId)} · ${members} ${members === 1 ? 'agent' : 'agents'}${page}`);
  const interrupts = onInterrupt(squadId, text => (json ? context.err.write(`${text}\n`) : teller.say(text)));
  try {
    await follow(client, {
      squadId,
      onEvent(event) {
        teller.tell(event);
        const runs = views.list();
        return runs.length >= members && runs.every(run => isEnd(run.status));
      },
    });
  } finally {
    teller.close();
    interrupts.release();
  }
  if (!json) await printEnd(squadId, views, context);
  return interrupts.count > 0 ? EXIT.interrupted : exitFor(views.list().map(shownStatus));
}

/** What it came to; what a single agent was asked for is its answer. */
async function printEnd(squadId: string, views: RunViews, context: CliContext): Promise<void> {
  // Not the client that watched: its hub may have been replaced meanwhile.
  const client = await HubClient.start();
  try {
    const runs = await printSummary(client, [squadId], views, context);
    if (runs.length === 1) print(context, await answerLines(client, runs[0]!.id, context));
  } finally {
    client.close();
  }
}

async function answerLines(client: HubClient, run: RunId, { style }: CliContext): Promise<string[]> {
  const { result } = await client.call('show_run', { run });
  if (!result.result?.trim()) return [];
  const rest = result.truncated ? [style.dim(`All of it: ${result.output_file}`)] : [];
  return ['', style.bold('Result'), visibleText(result.result).trimEnd(), ...rest];
}

/** The first Ctrl-C asks the agents to stop; the second leaves, and the hub ends them after their grace. */
function onInterrupt(squadId: string, say: (text: string) => void) {
  const state = {
    count: 0,
    release: () => {
      process.off('SIGINT', act);
      process.off('SIGTERM', act);
    },
  };
  let asked: Promise<void> | null = null;
  const act = () => {
    state.count++;
    // The second one leaves as soon as the hub has been asked, the third at once.
    if (state.count > 2) process.exit(EXIT.interrupted);
    if (asked) return void asked.finally(() => process.exit(EXIT.interrupted));
    say('Stopping the agents… (Ctrl-C again leaves; they are ended all the same)');
    asked = askToStop(squadId, say);
  };
  process.on('SIGINT', act);
  process.on('SIGTERM', act);
  return state;
}

/** Settles when the hub has been asked, which is before the agents have ended. */
async function askToStop(squadId: string, say: (text: string) => void): Promise<void> {
  const failed = (error: Error) => say(`They could not be stopped: ${error.message}`);
  const client = await HubClient.start().catch(failed);
  client
    ?.call('cancel_run', { squad_id: squadId })
    .catch(failed)
    .finally(() => client.close());
}

interface RunOptions extends TellOptions {
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
