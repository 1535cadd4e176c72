import { ownEnvironment } from '../../link/program.ts';
import type { RunResult } from '../../operations/run-result.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd } from '../../schema/run.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { follow } from '../follow.ts';
import { HubClient } from '../hub-client.ts';
import { eventLine, printJson } from '../output/json.ts';
import { eventToLine, labelWidth } from '../output/run-lines.ts';
import { statusLines } from '../output/run-status.ts';
import { summaryLines } from '../output/run-summary.ts';
import { RunViews } from '../output/run-view.ts';
import { sanitize } from '../output/sanitize.ts';
import { openStatusBlock } from '../output/status-block.ts';

export interface RunOptions {
  cwd?: string;
  engine?: string;
  timeout?: string;
  chat?: string;
  detach?: boolean;
}

interface Started {
  squadId: string;
  runIds: string[];
  /** What came with the repository and was not used. */
  warnings: string[];
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
  timeoutMs?: number;
}

/** `squad run ROLE "task" [ROLE "task" …]` */
export async function runCommand(words: string[], options: RunOptions, context: CliContext): Promise<number> {
  const { engine, timeout, chat, detach } = options;
  const request: SquadInput = {
    members: await membersFrom(words, options),
    ...(engine !== undefined && { engine }),
    ...(timeout !== undefined && { timeoutMs: milliseconds(timeout) }),
  };
  const env: Record<string, string> = chat === undefined ? {} : { STATE_MODE: 'stateful' };
  return startAndWatch(request, env, detach === true, context);
}

/** Starts a squad and shows it until it is over. */
export async function startAndWatch(
  request: SquadInput,
  env: Record<string, string>,
  detach: boolean,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({
    env: { ...ownEnvironment(), ...env },
    workspace: context.workspace,
  });
  try {
    const { squadId, runIds, warnings } = await client.call<Started>('start_squad', request);
    for (const warning of warnings) context.err.write(`${context.style.yellow(warning)}\n`);
    if (!detach) return await watch(client, squadId, runIds.length, context);
    if (context.json) printJson(context.out, { squadId, runIds });
    else print(context, runIds);
    return EXIT.done;
  } finally {
    client.close();
  }
}

async function watch(
  client: HubClient,
  squadId: string,
  members: number,
  context: CliContext,
): Promise<number> {
  const { out, json, style } = context;
  const views = new RunViews();
  const block = json ? null : openStatusBlock(out, () => statusLines(views.list(), Date.now(), out, style));
  block?.append(`${style.bold(squadId)} · ${members} ${members === 1 ? 'agent' : 'agents'}`);
  const interrupts = onInterrupt(squadId, text =>
    json ? context.err.write(`${text}\n`) : block?.append(text),
  );
  try {
    await follow(client, {
      squadId,
      onEvent(event) {
        const view = views.apply(event);
        if (json) out.write(eventLine(event));
        const line = eventToLine(event, view, labelWidth(views.list()), style, out.columns);
        // Everyone is queued first; the line is worth reading only for those who stay there, and the block shows them.
        if (line && event.body.type !== 'run.queued') block?.append(line);
        block?.changed();
        const runs = views.list();
        return runs.length >= members && runs.every(run => isEnd(run.status));
      },
    });
  } finally {
    block?.close();
    interrupts.release();
  }
  const runs = views.list();
  if (!json) print(context, summaryLines(runs, out.columns, style));
  if (!json && runs.length === 1) print(context, await answerLines(runs[0]!.id, context));
  return interrupts.count > 0 ? EXIT.interrupted : exitFor(runs.map(run => run.status));
}

/** What a single agent was asked for is its answer. */
async function answerLines(run: string, { style }: CliContext): Promise<string[]> {
  // Not the client that watched: its hub may have been replaced meanwhile.
  const client = await HubClient.start();
  try {
    const { result } = await client.call<{ result: RunResult }>('show_run', { run });
    if (!result.result?.trim()) return [];
    const rest = result.truncated ? [style.dim(`All of it: ${result.output_file}`)] : [];
    return ['', style.bold('Result'), sanitize(result.result).trimEnd(), ...rest];
  } finally {
    client.close();
  }
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
  const act = () => {
    state.count++;
    if (state.count > 1) process.exit(EXIT.interrupted);
    say('Stopping the agents… (Ctrl-C again leaves; they are ended all the same)');
    void HubClient.start()
      .then(client => client.call('cancel_run', { squad_id: squadId }).finally(() => client.close()))
      .catch(error => say(`They could not be stopped: ${error.message}`));
  };
  process.on('SIGINT', act);
  process.on('SIGTERM', act);
  return state;
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

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function milliseconds(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit]!);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new SquadError('INVALID_INPUT', `--timeout cannot be ${JSON.stringify(text)}`, {
    suggestions: ['Write 90s, 15m or 2h, up to 24 days.'],
  });
}
