import { visibleText } from '../../base/visible-text.ts';
import { ownEnvironment } from '../../link/program.ts';
import type { Input } from '../../operations/operations.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { pageOrigin } from '../hub/web-address.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { wrap } from '../terminal/wrap.ts';
import { follow } from './follow.ts';
import { printSummary } from './print-summary.ts';
import { RunTeller, type TellOptions } from './run-teller.ts';
import { RunViews } from './run-view.ts';

type Starting = 'start_squad' | 'reply_to_run' | 'retry_runs';

export interface Start<N extends Starting> {
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
    env: { ...ownEnvironment(), ...env },
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
  const teller = new RunTeller(views, context, tell);
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
