import { SquadError } from '../../schema/error.ts';
import type { RunStatus } from '../../schema/run.ts';
import { milliseconds, readInput } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { statusText } from '../terminal/status-text.ts';
import { startAndWatch } from './run.ts';

/** `squad cancel ID… | --all [--everywhere]`: ids of runs or squads. */
export async function cancelCommand(
  ids: string[],
  { all, everywhere = false }: { all?: boolean; everywhere?: boolean },
  context: CliContext,
): Promise<number> {
  if (everywhere && !all)
    throw new SquadError('INVALID_INPUT', '--everywhere goes with --all', {
      suggestions: ['squad cancel --all --everywhere   stops the runs of every workspace'],
    });
  if (ids.length === 0 && !all)
    throw new SquadError('INVALID_INPUT', 'Which run?', {
      suggestions: [
        'squad cancel RUN…',
        'squad cancel --all   stops every run of this workspace; --everywhere of every one',
        'squad ls --running   shows them',
      ],
    });
  const client = await HubClient.start({ workspace: context.workspace });
  try {
    const inputs = all ? [{ all: true, everywhere }] : await Promise.all(ids.map(id => wholeId(client, id)));
    const answers = await Promise.all(inputs.map(input => client.call('cancel_run', input)));
    const runs = answers.flatMap(answer => answer.runs);
    if (context.json) printJson(context.out, { runs });
    else
      print(context, [
        ...(runs.length > 0
          ? []
          : [everywhere || !all ? 'Nothing is running.' : 'Nothing is running in this workspace.']),
        ...runs.map(run => {
          const status = statusText(run.status as RunStatus);
          return `${run.spawn_id}  ${run.was_running ? status : `was already over: ${status}`}`;
        }),
        ...answers.flatMap(({ note }) => (note === undefined ? [] : [context.style.dim(note)])),
      ]);
    return EXIT.done;
  } finally {
    client.close();
  }
}

/** A person may type the beginning of an id. */
async function wholeId(
  client: HubClient,
  given: string,
): Promise<{ squad_id: string } | { spawn_id: string }> {
  const { runs } = await client.call('find_runs', { ids: [given] });
  const [first] = runs;
  const bare = given.replace(/^(run|squad)_/, '');
  if (first && !given.startsWith('squad_') && first.id.slice('run_'.length).startsWith(bare))
    return { spawn_id: first.id };
  return { squad_id: first?.squadId ?? given };
}

/** `squad reply RUN "text"`: goes on with the chat of a run that has ended. */
export async function replyCommand(
  run: string,
  words: string,
  { detach }: { detach?: boolean },
  context: CliContext,
): Promise<number> {
  const text = words === '-' ? await readInput() : words;
  return startAndWatch({ operation: 'reply_to_run', input: { run, text }, detach }, context);
}

interface RetryOptions {
  engine?: string;
  model?: string;
  timeout?: string;
  detach?: boolean;
}

/** `squad retry RUN`: the same request once more; of a squad, those that did not complete. */
export async function retryCommand(
  id: string,
  { engine, model, timeout, detach }: RetryOptions,
  context: CliContext,
): Promise<number> {
  const input = {
    id,
    engine,
    model,
    ...(timeout !== undefined && { timeoutMs: milliseconds('--timeout', timeout) }),
  };
  return startAndWatch({ operation: 'retry_runs', input, detach }, context);
}
