import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { RunIdentity } from '../../core/policy.ts';
import { checkTask } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { MessageDelivery, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { cancellerOf } from './cancel-run.ts';
import { findRun } from './find-runs.ts';

/** Sends a message to the agent of a run that has not ended. An agent can send one to the client of its run, too. */
export const sendMessage = operation({
  name: 'send_message',
  route: 'POST /runs/{run}/tell',
  agents: 'messages',
  tool: {
    title: 'Send message',
    description:
      'Tell a running agent something: in its turn where its engine can (delivery in_turn), else when its turn ends (queued).',
    readOnly: false,
    toolset: 'team',
  },
  input: z.strictObject({
    run: z.string().describe('An agent may also give lead or client'),
    text: z.string(),
    interrupt: z.boolean().optional().describe('Interrupt its current work first'),
  }),
  output: z.object({
    id: z.string(),
    spawn_id: z.string(),
    delivery: MessageDelivery,
    note: z.string(),
  }),
  async run({ services, caller }, { run: given, text, interrupt = false }) {
    checkTask(text);
    const { runner } = services;
    if (caller.parent) return sendFromAgent(services, caller.parent, given, text, interrupt);
    const run = await findRun(services, given);
    if (interrupt && runner.current(run.id) && !runner.isFed(run.id)) throw notFed(run);
    const told = { id: randomUUID(), text, by: caller.client };
    const delivery = await runner.tell(run.id, told, interrupt);
    if (delivery === null) throw over(run);
    return { id: told.id, spawn_id: run.id, delivery, note: NOTES[delivery] };
  },
});

/** Limit of a message between agents. A longer text belongs into a file. */
const MAX_AGENT_TEXT_LENGTH = 20_000;

async function sendFromAgent(
  services: Services,
  { id: self, parentId, messages }: RunIdentity,
  given: string,
  text: string,
  interrupts: boolean,
) {
  if (interrupts)
    throw new SquadError('NOT_ALLOWED', 'An agent cannot interrupt another agent with a message', {
      suggestions: ['Leave `interrupt` out: the agent reads the message as soon as it can.'],
    });
  if (text.length > MAX_AGENT_TEXT_LENGTH)
    throw new SquadError(
      'INVALID_INPUT',
      `The message has ${text.length} characters; at most ${MAX_AGENT_TEXT_LENGTH} fit`,
      { suggestions: ['Write the text into a file, and send its path.'] },
    );
  const toClient = given === 'client';
  if (toClient && !messages.includes('client')) throw notGranted(self, 'client');
  if (given === 'lead' && (parentId === null || !messages.includes('lead'))) throw notGranted(self, 'lead');
  const to = toClient ? null : (await findRun(services, given === 'lead' ? parentId! : given)).id;
  const { id, delivery } = await services.runner.send(self, to, text);
  return { id, spawn_id: to ?? self, delivery, note: NOTES[delivery] };
}

const notGranted = (id: RunId, target: 'client' | 'lead'): SquadError =>
  new SquadError('NOT_ALLOWED', `Run ${id} has no ${target} that it may send messages to`, {
    suggestions: [
      `The run needs \`messages: ${target}\` in its role${target === 'lead' ? ', and must have been started by another run' : ''}.`,
    ],
  });

const NOTES: Record<MessageDelivery, string> = {
  in_turn: 'The agent reads it in its running turn.',
  queued:
    'The agent gets it in another turn of the same chat, as soon as its turn has completed: it reads only its prompt while it works.',
  next_turn: 'The message was sent before. It is in the prompt of the next turn.',
  client: "The message is in this run's result and events.",
  undelivered: 'The run ended before its agent could get the message.',
};

/** Interrupts a run: the agent ends its turn by itself, and its chat can be continued. */
export const interruptRun = operation({
  name: 'interrupt_run',
  route: 'POST /runs/{run}/interrupt',
  input: z.strictObject({ run: z.string() }),
  output: z.object({ spawn_id: z.string(), status: z.string() }),
  async run(call, { run: given }) {
    const { runner } = call.services;
    const run = await findRun(call.services, given);
    if (runner.current(run.id) && !runner.isFed(run.id)) throw notFed(run);
    if (!(await runner.stop(run.id, 'cancel', await cancellerOf(call), true))) throw over(run);
    await runner.untilEnded(run.id, AbortSignal.any([call.signal, AbortSignal.timeout(END_TIMEOUT_MS)]));
    const ended = runner.current(run.id) ?? (await call.services.store.run(run.id)) ?? run;
    return { spawn_id: run.id, status: shownStatus(ended) };
  },
});

/** Maximum time to wait for the end of an interrupted run. Longer than a soft stop followed by a hard stop. */
const END_TIMEOUT_MS = 25_000;

const over = ({ id, status }: Run): SquadError =>
  new SquadError('RUN_OVER', `Run ${id} has ended (${status}), so nobody reads the message`, {
    suggestions: [`\`squad reply ${shellWord(id)} TEXT\` continues its chat.`],
  });

const notFed = ({ id, engine }: Run): SquadError =>
  new SquadError('NOT_ALLOWED', `Run ${id} cannot be interrupted: its ${engine} reads only its prompt`, {
    suggestions: [
      `\`squad tell ${shellWord(id)} TEXT\` without --interrupt reaches it when its turn has ended.`,
      `\`squad cancel ${shellWord(id)}\` stops it.`,
    ],
  });
