import { ownEnvironment } from '../link/program.ts';
import type { RunResult } from '../operations/run-result.ts';
import type { Started } from '../operations/started.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type ShownRun } from '../schema/run.ts';
import { type CliContext, print } from './context.ts';
import { EXIT, exitFor } from './exit-codes.ts';
import { follow } from './follow.ts';
import { HubClient } from './hub-client.ts';
import { loginHints } from './login-hints.ts';
import { eventLine, printJson } from './output/json.ts';
import { eventToLine, labelWidth } from './output/run-lines.ts';
import { statusLines } from './output/run-status.ts';
import { summaryLines } from './output/run-summary.ts';
import { RunViews } from './output/run-view.ts';
import { sanitize } from './output/sanitize.ts';
import { openStatusBlock } from './output/status-block.ts';
import { wrap } from './output/wrap.ts';

export interface Start {
  operation: 'start_squad' | 'reply_to_run' | 'retry_runs';
  input: unknown;
  /** On top of this program's own. */
  env?: Record<string, string>;
  /** Print the ids and leave. */
  detach?: boolean;
}

/** Asks for runs, by an operation that starts some, and shows them until they are over. */
export async function startAndWatch(
  { operation, input, env = {}, detach = false }: Start,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({
    env: { ...ownEnvironment(), ...env },
    workspace: context.workspace,
  });
  try {
    const { squadId, runIds, warnings } = await client.call<Started>(operation, input);
    for (const line of warnings.flatMap(warning => wrap(warning, context.err.columns)))
      context.err.write(`${context.style.yellow(line)}\n`);
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
  if (!json) await printEnd(squadId, views, context);
  return interrupts.count > 0 ? EXIT.interrupted : exitFor(runs.map(run => run.status));
}

/** What it came to, with what Squad saw for itself; what a single agent was asked for is its answer. */
async function printEnd(squadId: string, views: RunViews, context: CliContext): Promise<void> {
  // Not the client that watched: its hub may have been replaced meanwhile.
  const client = await HubClient.start();
  try {
    const { runs } = await client.call<{ runs: ShownRun[] }>('find_runs', { ids: [squadId] });
    for (const run of runs) views.see(run);
    const shown = views.list();
    const logins = await loginHints(
      client,
      shown.map(run => run.error),
    );
    print(context, summaryLines(shown, context.out.columns, context.style, logins));
    if (runs.length === 1) print(context, await answerLines(client, runs[0]!.id, context));
  } finally {
    client.close();
  }
}

async function answerLines(client: HubClient, run: RunId, { style }: CliContext): Promise<string[]> {
  const { result } = await client.call<{ result: RunResult }>('show_run', { run });
  if (!result.result?.trim()) return [];
  const rest = result.truncated ? [style.dim(`All of it: ${result.output_file}`)] : [];
  return ['', style.bold('Result'), sanitize(result.result).trimEnd(), ...rest];
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
