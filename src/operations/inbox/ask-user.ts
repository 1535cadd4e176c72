import { z } from 'zod';
import { refusedUnasked } from '../../core/inbox/engine-asks.ts';
import { permissionAsk, type ToolUse, toPermissionAnswer } from '../../core/inbox/engine-permission.ts';
import type { EngineAnswer } from '../../core/ports/engine.ts';
import { SquadError } from '../../schema/error.ts';
import { type InboxItem, whoAnswered } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { ownRun } from '../agent-services.ts';
import { type Call, operation } from '../operation.ts';
import { withHeartbeat } from '../runs/wait.ts';

const WEEK_IN_MINUTES = 7 * 24 * 60;
/** Minimum timeout of a question. In less time nobody could answer. */
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
    const timeUp = call.waitMs === null ? [] : [AbortSignal.timeout(call.waitMs)];
    const closed = await untilClosed(call, run, item, stopping =>
      AbortSignal.any([call.signal, stopping, ...timeUp]),
    );
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
      suggestions: ['Send { question } to ask, or { id } to keep waiting for an answer.'],
    });
  return services.inbox.ask({ run, kind, question, ...rest });
}

/**
 * Waits until the item is closed. Null if `until` resolved first. While the run waits, another run may use its slot.
 */
async function untilClosed(
  call: Call,
  run: Run,
  item: InboxItem,
  until: (stopping: AbortSignal) => AbortSignal,
): Promise<InboxItem | null> {
  const { inbox, runner, hub } = call.services;
  const wait = () =>
    hub.whileAsking(stopping =>
      runner.whileWaiting(run.id, () => inbox.untilClosed(item.id, until(stopping))),
    );
  const text = () => `waits for ${item.owner === 'user' ? 'the user' : item.owner}`;
  const closed = item.state === 'open' ? await withHeartbeat(call, text, wait) : item;
  if (closed && !call.signal.aborted) inbox.deliver(closed);
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

/** The tool that Claude Code calls for its permission prompts (`--permission-prompt-tool`). */
export const askPermission = operation({
  name: 'ask_permission',
  route: 'POST /tools/ask_permission',
  agents: 'approvals',
  tool: {
    title: 'Ask permission',
    description:
      'For the engine, not for the model: asks the user whether one use of a tool is allowed, and waits for the answer.',
    readOnly: false,
    forAgents: true,
    textOnly: true,
  },
  input: z.object({
    tool_name: z.string(),
    input: z.record(z.string(), z.unknown()),
    tool_use_id: z.string().optional(),
  }),
  output: z.object({
    behavior: z.enum(['allow', 'deny']),
    updatedInput: z.record(z.string(), z.unknown()).optional(),
    message: z.string().optional(),
  }),
  async run(call, { tool_name: tool, input, tool_use_id: id = null }) {
    const permission = await permissionFor(call, ownRun(call), { tool, input, id });
    return permission.isGiven
      ? { behavior: 'allow' as const, updatedInput: input }
      : { behavior: 'deny' as const, message: permission.why };
  },
});

async function permissionFor(call: Call, run: Run, use: ToolUse): Promise<EngineAnswer> {
  const { inbox, engines } = call.services;
  const name = engines.clis().find(({ cli }) => cli === run.engine)?.name ?? run.engine;
  try {
    const item = await inbox.ask({ run, ...permissionAsk(name, use) });
    // Waits without a time limit: the engine cannot handle "not yet", so a hub that stops leaves it without an answer.
    return toPermissionAnswer((await untilClosed(call, run, item, () => call.signal)) ?? item);
  } catch (thrown) {
    // The request cannot be put to the user, so it is refused with a message for the model.
    if (!(thrown instanceof SquadError)) throw thrown;
    return refusedUnasked(thrown);
  }
}
