import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { type InboxItem, whoAnswered } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { ownRun } from '../agent-services.ts';
import { type Call, operation } from '../operation.ts';
import { withHeartbeat } from '../runs/wait.ts';

const WEEK_IN_MINUTES = 7 * 24 * 60;
/** In less time nobody could answer. */
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
type AskInput = Omit<z.output<typeof Input>, 'id'>;

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
  async run(call, { id, ...input }) {
    const run = ownRun(call);
    const item =
      id === undefined ? await ask(call, run, input) : await call.services.inbox.askedBy(run.id, id);
    const closed = await untilClosed(call, run, item);
    return closed ? closedResult(closed) : waitingResult(item, input.to);
  },
});

function ask(
  { services }: Call,
  run: Run,
  { question, kind = 'question', ...rest }: AskInput,
): Promise<InboxItem> {
  if (question === undefined)
    throw new SquadError('INVALID_INPUT', 'Give a question, or the id of one you asked', {
      suggestions: ['{ question } asks; { id } continues waiting.'],
    });
  return services.inbox.ask({ run, kind, question, ...rest });
}

/** Null: the call has to return before there is an answer. The run gives up its place in the queue meanwhile. */
async function untilClosed(call: Call, run: Run, item: InboxItem): Promise<InboxItem | null> {
  const { services, signal, waitMs } = call;
  const { inbox, runner, hub } = services;
  if (item.state !== 'open') {
    inbox.deliver(item);
    return item;
  }
  const timeUp = waitMs === null ? [] : [AbortSignal.timeout(waitMs)];
  const closed = await withHeartbeat(
    call,
    () => `waits for ${item.owner === 'user' ? 'the user' : item.owner}`,
    () =>
      hub.whileAsking(stopping =>
        runner.whileWaiting(run.id, () =>
          inbox.untilClosed(item.id, AbortSignal.any([signal, stopping, ...timeUp])),
        ),
      ),
  );
  if (closed && !signal.aborted) inbox.deliver(closed);
  return closed;
}

const closedResult = ({ id, state, answer, answeredBy }: InboxItem) => ({
  status: state as Exclude<InboxItem['state'], 'open'>,
  id,
  answer,
  by: answeredBy && whoAnswered(answeredBy),
  ...(state === 'declined' && {
    note: 'The person will not answer. Do not ask again; continue as best you can and say in your report what you assumed.',
  }),
  ...(state === 'expired' && {
    note:
      answer === null
        ? 'Nobody answered in time. Continue as best you can and say in your report what you assumed.'
        : 'Nobody answered in time: this is the default, not a decision. Say so in your report.',
  }),
});

const waitingResult = ({ id, owner }: InboxItem, to: AskInput['to']) => ({
  status: 'waiting' as const,
  id,
  answer: null,
  by: null,
  note: [
    `Not answered yet. Call this tool again with {"id": "${id}"} to continue waiting.`,
    ...(to === 'lead' && owner === 'user' ? ['You have no lead that could answer: the user was asked.'] : []),
  ].join(' '),
});
