import { visibleLine, visibleText } from '../../base/text.ts';
import { definedVariables } from '../../link/handshake.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Permission } from '../../schema/run.ts';
import type { NetworkAccess, SandboxLevel } from '../../schema/sandbox.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { mayAsk, readInput } from '../arguments.ts';
import { type CliContext, print, printNotes } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { webOrigin } from '../hub/open.ts';
import { HubClient } from '../hub-client.ts';
import { offerTrust } from '../settings/trust.ts';
import { jsonLine, plainLine } from '../terminal/json.ts';
import { follow } from './follow.ts';
import { type ReportOptions, RunReporter } from './run-reporter.ts';
import { printSummary } from './run-summary.ts';
import { RunViews } from './run-view.ts';

type StartOperation = 'start_squad' | 'reply_to_run' | 'retry_runs' | 'adopt_chat';

interface Start<N extends StartOperation> {
  operation: N;
  input: Input<N>;
  /** Variables that are added to the environment of this program. */
  env?: Record<string, string>;
  detach?: boolean;
  report?: ReportOptions;
}

/** Starts runs with one of the start operations, and shows them until they end. */
export async function startAndWatch<N extends StartOperation>(
  { operation, input, env, detach, report = {} }: Start<N>,
  context: CliContext,
): Promise<number> {
  using client = await HubClient.start({
    env: { ...definedVariables(process.env), ...env },
    workspace: context.workspace,
  });
  const { squadId, runIds, warnings } = await client.call(operation, input);
  printNotes(context, warnings);
  if (detach) {
    if (context.json) context.out.write(jsonLine({ squadId, runIds }));
    else print(context, runIds);
    return EXIT.done;
  }
  return await watch(client, { squadId, members: runIds.length, options: report }, context);
}

async function watch(
  client: HubClient,
  { squadId, members, options }: { squadId: string; members: number; options: ReportOptions },
  context: CliContext,
): Promise<number> {
  const { json, style } = context;
  const views = new RunViews();
  const reporter = new RunReporter(views, context, options);
  reporter.origin = await webOrigin(client, context);
  const address = reporter.origin === null ? '' : style.dim(` · ${reporter.origin}/s/${squadId}`);
  if (!options.quiet)
    reporter.print(`${style.bold(squadId)} · ${members} ${members === 1 ? 'agent' : 'agents'}${address}`);
  const interrupts = onInterrupt(squadId, {
    say: text => (json ? context.err.write(`${text}\n`) : reporter.print(text)),
    leave: () => {
      reporter.close();
      process.exit(EXIT.interrupted);
    },
  });
  try {
    await follow(client, {
      squadId,
      onEvent(event) {
        reporter.report(event);
        const runs = views.list();
        return runs.length >= members && runs.every(run => isEnd(run.status));
      },
    });
  } finally {
    reporter.close();
    interrupts.release();
  }
  const code = interrupts.count > 0 ? EXIT.interrupted : exitFor(views.list().map(shownStatus));
  if (json) await printResultLine(squadId, views, code, context);
  else await printEnd(squadId, views, context);
  return code;
}

/** Last line of `--json`: the result of each run in the form of `squad show --json`, and the exit code. */
async function printResultLine(
  squadId: string,
  views: RunViews,
  exitCode: number,
  { out }: CliContext,
): Promise<void> {
  using client = await HubClient.start();
  const runs: Output<'show_run'>['result'][] = [];
  for (const { id } of views.list()) runs.push((await client.call('show_run', { run: id })).result);
  out.write(plainLine({ type: 'result', squadId, exitCode, runs }));
}

/** Prints the summary and, for a single agent, its answer. */
async function printEnd(squadId: string, views: RunViews, context: CliContext): Promise<void> {
  // A new client is used, because the hub of the first client may have been replaced.
  using client = await HubClient.start();
  const runs = await printSummary(client, [squadId], views, context);
  if (runs.length === 1) print(context, await answerLines(client, runs[0]!.id, context));
}

async function answerLines(client: HubClient, run: RunId, { style }: CliContext): Promise<string[]> {
  const { result } = await client.call('show_run', { run });
  if (!result.result?.trim()) return [];
  const rest = result.truncated ? [style.dim(`Complete output: ${result.output_file}`)] : [];
  return ['', style.bold('Result'), visibleText(result.result).trimEnd(), ...rest];
}

/** The first Ctrl-C asks the agents to stop. The second exits, and the hub stops them after their grace period. */
function onInterrupt(squadId: string, { say, leave }: { say(text: string): void; leave(): void }) {
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
    // The second Ctrl-C exits as soon as the hub has the request, the third at once.
    if (state.count > 2) leave();
    if (asked) return void asked.finally(leave);
    say('Stopping the agents… (press Ctrl-C again to exit; they are stopped anyway)');
    asked = askToStop(squadId, say);
  };
  process.on('SIGINT', act);
  process.on('SIGTERM', act);
  return state;
}

/** Resolves when the hub has the request, before the agents have ended. */
async function askToStop(squadId: string, say: (text: string) => void): Promise<void> {
  const failed = (error: Error) => say(`Stopping the agents failed: ${error.message}`);
  const client = await HubClient.start().catch(failed);
  client
    ?.call('cancel_run', { squad_id: squadId })
    .catch(failed)
    .finally(() => client.close());
}

interface RunOptions extends ReportOptions {
  name?: string;
  cwd?: string;
  engine?: string;
  model?: string;
  permission?: Permission;
  sandbox?: SandboxLevel;
  network?: NetworkAccess;
  on?: string;
  worktree?: boolean;
  budget?: number;
  timeout?: number;
  chat?: string;
  detach?: boolean;
}

export type SquadInput = Input<'start_squad'>;

/** `squad run "TASK"`, `squad run ROLE "TASK" [ROLE "TASK" …]` */
export async function runCommand(words: string[], options: RunOptions, context: CliContext): Promise<number> {
  const { engine, model, permission, sandbox, network, on, worktree, budget, timeout, chat, detach } =
    options;
  const { only, quiet, group } = options;
  const pairs = await withRole(words, context);
  refuseOdd(pairs);
  const roles = [...new Set(pairs.filter((_, at) => at % 2 === 0))];
  refuseOthers(only ?? [], roles);
  await offerTrustOf(roles, context);
  const request: SquadInput = {
    members: await membersFrom(pairs, options),
    ...(options.name !== undefined && { metadata: { name: options.name } }),
    engine,
    model,
    ...{ permission, sandbox, network, machine: on },
    ...(worktree !== undefined && { isolation: worktree ? 'worktree' : 'none' }),
    budgetUsd: budget,
    timeoutMs: timeout,
  };
  const env: Record<string, string> = chat === undefined ? {} : { STATE_MODE: 'stateful' };
  return startAndWatch(
    { operation: 'start_squad', input: request, env, detach, report: { only, quiet, group } },
    context,
  );
}

/** A single argument, or a task from stdin, goes to the role coder, or to the only role of the project. */
async function withRole(words: string[], context: CliContext): Promise<string[]> {
  const [only = ''] = words;
  if (words.length !== 1 || !(only === '-' || /\s/.test(only.trim()))) return words;
  const { roles } = await HubClient.ask({ workspace: context.workspace }, 'list_roles');
  const ids = roles.map(({ id }) => id);
  // The argument is the name of a role that contains a space, so the task is missing.
  if (ids.includes(only)) return words;
  const role = ids.find(id => id === DEFAULT_ROLE) ?? (ids.length === 1 ? ids[0] : undefined);
  if (role === undefined)
    throw new SquadError(
      'INVALID_INPUT',
      `No role was given, and this project does not have the default role ${DEFAULT_ROLE}`,
      {
        suggestions: [
          `Use \`squad run ROLE "TASK"\` with one of these roles: ${ids.map(visibleLine).join(', ')}.`,
        ],
      },
    );
  printNotes(context, [`No role was given: using ${role}.`], 'dim');
  return [role, only];
}

const DEFAULT_ROLE = 'coder';

/** Refuses `--only` with a role that none of these runs has: nothing would be shown. */
function refuseOthers(only: readonly string[], roles: readonly string[]): void {
  const other = only.find(role => !roles.includes(role));
  if (other !== undefined)
    throw new SquadError('INVALID_INPUT', `--only ${visibleLine(other)} matches none of these runs`, {
      suggestions: [`Roles of these runs: ${roles.map(visibleLine).join(', ')}. Nothing was started.`],
    });
}

/** On the user's terminal: asks once about files that these runs would use if they were trusted. */
async function offerTrustOf(roles: string[], context: CliContext): Promise<void> {
  if (!mayAsk(context)) return;
  try {
    const { untrusted } = await HubClient.ask({ workspace: context.workspace }, 'change_trust', { roles });
    await offerTrust(untrusted, context);
  } catch (thrown) {
    // The hub refuses agents, because only a person may trust files. An agent's run continues without these files.
    if (asSquadError(thrown).code !== 'NOT_ALLOWED') throw thrown;
  }
}

function refuseOdd(words: string[]): void {
  if (words.length === 0 || words.length % 2 !== 0)
    throw new SquadError(
      'INVALID_INPUT',
      `Expected ROLE "TASK" pairs, got ${words.length} ${words.length === 1 ? 'argument' : 'arguments'}`,
      {
        suggestions: [
          ...(words.length === 1 ? [`squad run ${shellWord(visibleLine(words[0]!))} "TASK"`] : []),
          'squad run "Fix the failing test"',
          '`squad roles` lists the roles.',
          'Put the task in quotes, or use - to read it from stdin.',
        ],
      },
    );
}

async function membersFrom(words: string[], { cwd, chat }: RunOptions): Promise<SquadInput['members']> {
  const members: SquadInput['members'] = [];
  for (let i = 0; i < words.length; i += 2) {
    const task = words[i + 1] === '-' ? await readInput() : words[i + 1]!;
    members.push({ roleId: words[i]!, task, cwd, chatId: chat });
  }
  return members;
}
