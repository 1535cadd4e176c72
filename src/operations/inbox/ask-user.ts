import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { type InboxItem, whoAnswered } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { ownRun } from '../agent-services.ts';
import { type Call, operation } from '../operation.ts';
import { withHeartbeat } from '../runs/wait.ts';

const WEEK_IN_MINUTES = 7 * 24 * 60;
/** Less than this, and nobody could have answered. */
const MIN_MINUTES = 0.5;

const Input = z.strictObject({
  question: z.string().optional(),
  kind: z.enum(['question', 'approval']).optional().describe('approval: yes or no'),
  choices: z.array(z.string()).optional(),
  details: z.string().optional().describe('What to know before answering'),
  default: z.string().optional().describe('Counts when nobody answers'),
  minutes: z.number().min(MIN_MINUTES).max(WEEK_IN_MINUTES).optional(),
  to: z.enum(['user', 'lead']).optional().describe('lead: the run that started you'),
  id: z.string().optional(),
});
type Wish = Omit<z.output<typeof Input>, 'id'>;

export const askUser = operation({
  name: 'ask_user',
  route: 'POST /tools/ask_user',
  agents: 'proven',
  tool: {
    title: 'Ask user',
    description:
      'Ask a person, and wait for the answer, when you cannot decide alone: a choice that is theirs, leave for something that cannot be undone. First do what needs no answer. On status "waiting" call again with id.',
    readOnly: false,
    forAgents: true,
    toolset: 'team',
  },
  input: Input,
  output: z.object({
    status: z.enum(['answered', 'declined', 'expired', 'waiting', 'withdrawn']),
    id: z.string(),
    answer: z.string().nullable(),
    by: z.string().nullable(),
    note: z.string().optional(),
  }),
  async run(call, { id, ...ask }) {
    const run = ownRun(call);
    const item =
      id === undefined ? await asked(call, run, ask) : await call.services.inbox.askedBy(run.id, id);
    const settled = await answered(call, run, item);
    return settled ? told(settled) : waiting(item, ask.to);
  },
});

function asked(
  { services }: Call,
  run: Run,
  { question, kind = 'question', ...rest }: Wish,
): Promise<InboxItem> {
  if (question === undefined)
    throw new SquadError('INVALID_INPUT', 'Give a question, or the id of one you asked', {
      suggestions: ['{ question } asks; { id } continues waiting.'],
    });
  return services.inbox.ask({ run, kind, question, ...rest });
}

/** Null when it must be told before there is an answer. Its place among those at work is free meanwhile. */
async function answered(call: Call, run: Run, item: InboxItem): Promise<InboxItem | null> {
  const { services, signal, waitMs } = call;
  const { inbox, runner, hub } = services;
  if (item.state !== 'open') {
    inbox.handOut(item);
    return item;
  }
  const timeUp = waitMs === null ? [] : [AbortSignal.timeout(waitMs)];
  const settled = await withHeartbeat(
    call,
    () => `waits for ${item.owner === 'user' ? 'the user' : item.owner}`,
    () =>
      hub.whileAsking(stopping =>
        runner.whileWaiting(run.id, () =>
          inbox.untilSettled(item.id, AbortSignal.any([signal, stopping, ...timeUp])),
        ),
      ),
  );
  if (settled && !signal.aborted) inbox.handOut(settled);
  return settled;
}

const told = ({ id, state, answer, answeredBy }: InboxItem) => ({
  status: state as Exclude<InboxItem['state'], 'open'>,
  id,
  answer,
  by: answeredBy && whoAnswered(answeredBy),
  ...(state === 'declined' && {
    note: 'The person was asked and will not answer. Do not ask again; go on as best you can and say in your report what you assumed.',
  }),
  ...(state === 'expired' && {
    note:
      answer === null
        ? 'Nobody answered in time. Go on as best you can and say in your report what you assumed.'
        : 'Nobody answered in time: this is the default, not a decision. Say so in your report.',
  }),
});

const waiting = ({ id, owner }: InboxItem, to: Wish['to']) => ({
  status: 'waiting' as const,
  id,
  answer: null,
  by: null,
  note: [
    `Not answered yet. Call this tool again with {"id": "${id}"} to continue waiting.`,
    ...(to === 'lead' && owner === 'user'
      ? ['No run that could answer started you: the user was asked.']
      : []),
  ].join(' '),
});
