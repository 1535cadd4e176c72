import { z } from 'zod';
import type { MessageStore } from '../../core/ports/store.ts';
import { didYouMean } from '../../core/text.ts';
import { NATIVE, StoredMessage, TracePart, traceLabel } from '../../schema/conversation.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, runSummary, ShownStatus } from '../../schema/run.ts';
import { valueText } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

const MAX_CONVERSATIONS = 500;

/** Stored conversations, one for each run, newest first. */
export const listConversations = operation({
  name: 'list_conversations',
  route: 'GET /conversations',
  input: z.strictObject({
    workspace: z.string().optional(),
    subagent: z.string().optional(),
    /** Only conversations that began before this time. Used for paging. */
    before: z.number().optional(),
    limit: z.number().int().min(1).max(MAX_CONVERSATIONS).default(50),
  }),
  output: z.object({
    conversations: z.array(
      z.object({
        run: RunId,
        label: z.string(),
        subagent: z.string().nullable(),
        title: z.string(),
        status: ShownStatus,
        parent: RunId.nullable(),
        startedAt: z.number(),
        lastAt: z.number().nullable(),
        messages: z.number(),
      }),
    ),
    /** Value of `before` for the next page. Null if there are no more. */
    next: z.number().nullable(),
  }),
  async run({ services }, { limit, ...filter }) {
    const found = await services.conversations.conversations({ ...filter, limit: limit + 1 });
    if (found.length === 0 && filter.subagent !== undefined) await refuseUnknown(services, filter.subagent);
    const conversations = await Promise.all(
      found.slice(0, limit).map(async ({ runId, ...conversation }) => {
        const run = services.runner.current(runId) ?? (await services.store.run(runId));
        return {
          run: runId,
          ...conversation,
          title: run ? runSummary(run) : '',
          // A run and its conversation are removed together. A conversation without its run is found only if they are
          // removed during this read.
          status: run ? shownStatus(run) : ('lost' as const),
          parent: run?.parentId ?? null,
        };
      }),
    );
    return { conversations, next: found.length > limit ? conversations.at(-1)!.startedAt : null };
  },
});

async function refuseUnknown({ conversations }: Services, subagent: string): Promise<void> {
  const known = await conversations.talkers();
  if (known.includes(subagent)) return;
  throw new SquadError('INVALID_INPUT', `No subagent ${subagent} has been called yet`, {
    suggestions: [
      didYouMean(subagent, known) ??
        (known.length > 0
          ? `Subagents that have been called: ${known.slice(0, 10).join(', ')}`
          : 'A subagent is called over MCP: `squad mcp serve --config FILE`.'),
    ],
  });
}

/** Maximum length of a shown part. It is enough to see what the part is about. */
const MAX_PART_LENGTH = 4_000;

/** A message as a list shows it. Long parts are cut, and `left` is the number of characters that were cut off. */
const ShownMessage = StoredMessage.extend({
  content: z.array(TracePart.and(z.object({ left: z.number().optional() }))),
});
type ShownMessage = z.infer<typeof ShownMessage>;
export type ShownPart = ShownMessage['content'][number];

const shownMessage = (message: StoredMessage): ShownMessage => ({
  ...message,
  content: message.content.map(shortened),
});

function shortened(part: TracePart): ShownPart {
  if (part.type === 'file' || part.type === 'more_calls') return part;
  if (part.type === 'text' || part.type === 'reasoning') {
    const { text, left } = truncated(part.text);
    return left === 0 ? part : { ...part, text, left };
  }
  const { text, left } = truncated(valueText(part.type === 'tool_call' ? part.input : part.output));
  if (left === 0) return part;
  return part.type === 'tool_call' ? { ...part, input: text, left } : { ...part, output: text, left };
}

function truncated(text: string): { text: string; left: number } {
  if (text.length <= MAX_PART_LENGTH) return { text, left: 0 };
  const kept = text.slice(0, MAX_PART_LENGTH).toWellFormed();
  return { text: kept, left: text.length - kept.length };
}

const MAX_MESSAGES = 500;
const MAX_NESTED = 200;
/** Number of messages to read at once. It is low, because a message can have megabytes. */
const READ_AT_ONCE = 8;
const WHOLE_BYTES = 4 * 1024 * 1024;

/** The conversation of a run of the native engine, from one message on. */
export const getConversation = operation({
  name: 'get_conversation',
  route: 'GET /runs/{run}/conversation',
  input: z.strictObject({
    /** Id of a run, or label of its conversation. */
    run: z.string(),
    /** Number of messages to skip. */
    after: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(MAX_MESSAGES).default(200),
    /** Return long parts in full. Then a page may have fewer messages. */
    isWhole: z.boolean().default(false),
    /** Return only this message, in full. */
    message: z.string().optional(),
  }),
  output: z.object({
    run: RunId,
    label: z.string(),
    subagent: z.string().nullable(),
    title: z.string(),
    status: ShownStatus,
    /** Number of messages so far. */
    total: z.number(),
    messages: z.array(ShownMessage),
    /** Value of `after` for the next page. Null if this was the last page. */
    next: z.number().nullable(),
    /** Runs that this run started, oldest first. */
    nested: z.array(
      z.object({
        id: RunId,
        subagent: z.string().nullable(),
        title: z.string(),
        status: ShownStatus,
        createdAt: z.number(),
      }),
    ),
    /** Why there are no messages, and what to read instead. Null if there are messages. */
    note: z.string().nullable(),
  }),
  async run({ services }, { run: given, after, limit, isWhole, message }) {
    const { conversations, store } = services;
    const run = await findRun(services, runOfLabel(given));
    const [total, started] = await Promise.all([
      conversations.countMessages(run.id),
      store.runs({ parentId: run.id, limit: MAX_NESTED }),
    ]);
    const messages =
      message !== undefined
        ? [await oneMessage(conversations, run, message)]
        : isWhole
          ? await wholeMessages(conversations, run.id, after, limit)
          : (await conversations.messages(run.id, { skip: after, limit })).map(shownMessage);
    const end = after + messages.length;
    return {
      run: run.id,
      label: traceLabel(run.id, run.options.subagent),
      subagent: run.options.subagent,
      title: runSummary(run),
      status: shownStatus(run),
      total: Math.max(total, end),
      messages,
      next: message === undefined && messages.length > 0 && end < total ? end : null,
      nested: started
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .map(each => ({
          id: each.id,
          subagent: each.options.subagent,
          title: runSummary(each),
          status: shownStatus(each),
          createdAt: each.createdAt,
        })),
      note: total === 0 ? whyNothing(run) : null,
    };
  },
});

/** A conversation can also be named by its label, `subagent:<name>:<run>` or `run:<run>`. */
const runOfLabel = (given: string): string => /^(?:subagent:[^:]+|run):(.+)$/.exec(given)?.[1] ?? given;

async function oneMessage(
  conversations: Pick<MessageStore, 'message'>,
  run: Run,
  id: string,
): Promise<StoredMessage> {
  const found = await conversations.message(run.id, id);
  if (found) return found;
  throw new SquadError('INVALID_INPUT', `There is no message ${id} in the conversation of ${run.id}`, {
    suggestions: [`\`squad conversation print ${shellWord(run.id)}\` shows its messages.`],
  });
}

async function wholeMessages(
  conversations: Pick<MessageStore, 'messages'>,
  runId: RunId,
  after: number,
  limit: number,
): Promise<StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (let bytes = 0; bytes < WHOLE_BYTES && all.length < limit; ) {
    const page = { skip: after + all.length, limit: Math.min(READ_AT_ONCE, limit - all.length) };
    const some = await conversations.messages(runId, page);
    if (some.length === 0) break;
    all.push(...some);
    bytes += JSON.stringify(some).length;
  }
  return all;
}

function whyNothing({ id, engine, status }: Run): string {
  if (engine !== NATIVE)
    return `Its engine is ${engine}, which keeps its conversation to itself. \`squad log ${shellWord(id)}\` shows what it wrote.`;
  if (!isEnd(status)) return 'The conversation has no messages yet.';
  return `The run ended before its first message. \`squad log ${shellWord(id)}\` shows what it wrote, \`squad show ${shellWord(id)}\` how it ended.`;
}
