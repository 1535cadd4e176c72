import { SquadError } from '../../schema/error.ts';
import type { RunStatus } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { readInput } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { statusText } from '../terminal/status-text.ts';
import { startAndWatch } from './run.ts';

/** `squad cancel ID… | --all [--everywhere]`: ids of runs or squads. */
export async function cancelCommand(
  ids: string[],
  { all, everywhere = false }: { all?: boolean; everywhere?: boolean },
  context: CliContext,
): Promise<number> {
  if (everywhere && !all)
    throw new SquadError('INVALID_INPUT', '--everywhere needs --all', {
      suggestions: ['`squad cancel --all --everywhere` stops the runs of every workspace.'],
    });
  if (ids.length === 0 && !all)
    throw new SquadError('INVALID_INPUT', 'No run given', {
      suggestions: [
        '`squad cancel RUN…` stops the runs you name.',
        '`squad cancel --all` stops every run of this workspace; add --everywhere for every workspace.',
        '`squad ls --running` lists running runs.',
      ],
    });
  using client = await HubClient.start({ workspace: context.workspace });
  const inputs = all ? [{ all: true, everywhere }] : await Promise.all(ids.map(id => completeId(client, id)));
  const answers = await Promise.all(inputs.map(input => client.call('cancel_run', input)));
  const runs = answers.flatMap(answer => answer.runs);
  return printResult(context, { runs }, () => [
    ...(runs.length > 0 ? [] : [`No runs are running${everywhere || !all ? '' : ' in this workspace'}.`]),
    ...runs.map(run => {
      const status = statusText(run.status as RunStatus);
      return `${run.spawn_id}  ${run.was_running ? status : `had already ended: ${status}`}`;
    }),
    ...answers.flatMap(({ note }) => (note === undefined ? [] : [context.style.dim(note)])),
  ]);
}

/** Completes an id of which the user typed only the beginning. */
async function completeId(
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

/** `squad reply RUN "TEXT"`: continues the chat of a run that has ended. */
export async function replyCommand(
  run: string,
  given: string,
  { detach }: { detach?: boolean },
  context: CliContext,
): Promise<number> {
  const text = given === '-' ? await readInput() : given;
  return startAndWatch({ operation: 'reply_to_run', input: { run, text }, detach }, context);
}

/** `squad retry ID`: repeats a run, or the runs of a squad that did not complete. */
export async function retryCommand(
  id: string,
  { engine, model, timeout, detach }: { engine?: string; model?: string; timeout?: number; detach?: boolean },
  context: CliContext,
): Promise<number> {
  const input = { id, engine, model, timeoutMs: timeout };
  return startAndWatch({ operation: 'retry_runs', input, detach }, context);
}

/** `squad tell RUN "TEXT"`: sends a message to a running agent. */
export async function tellCommand(
  run: string,
  given: string,
  { interrupt }: { interrupt?: boolean },
  context: CliContext,
): Promise<number> {
  const text = given === '-' ? await readInput() : given;
  const told = await HubClient.ask({}, 'send_message', { run, text, interrupt });
  return printResult(context, told, () => [
    `${told.spawn_id}  ${told.delivery === 'queued' ? 'queued' : 'delivered'}`,
    context.style.dim(told.note),
  ]);
}

/** `squad interrupt RUN`: asks an agent to end its turn, and stops the agent if it does not. */
export async function interruptCommand(run: string, context: CliContext): Promise<number> {
  const ended = await HubClient.ask({}, 'interrupt_run', { run });
  return printResult(context, ended, () => [
    `${ended.spawn_id}  ${statusText(ended.status as RunStatus)}`,
    context.style.dim(`Continue its chat: ${withOwnCommand(`squad reply ${shellWord(ended.spawn_id)} "…"`)}`),
  ]);
}
