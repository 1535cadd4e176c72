import { z } from 'zod';
import { answerText } from '../../core/inbox/answer.ts';
import { SEEN_WHOLE, shortDetails } from '../../core/inbox/ask.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { ALWAYS, InboxItem, InboxState, YES } from '../../schema/inbox.ts';
import { RunStatus, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { operation, type Services } from '../operation.ts';
import { findRun, refuseElsewhere } from '../runs/find-runs.ts';

const MAX_ITEMS = 1_000;
const DEFAULT_LIMIT = 100;

/** An inbox item with details of the run that asks. */
export const ShownItem = InboxItem.extend({
  run: z.object({
    title: z.string(),
    name: z.string(),
    roleId: z.string().nullable(),
    status: RunStatus,
  }),
});
export type ShownItem = z.infer<typeof ShownItem>;

/** Lists inbox items: open ones with the nearest deadline first, or closed or all ones with the newest first. */
export const listInbox = operation({
  name: 'list_inbox',
  route: 'GET /inbox',
  agents: 'lead',
  input: z.strictObject({
    state: z.enum(['open', 'settled', 'all']).default('open'),
    run: z.string().optional(),
    /** Only this item, open or closed: its id or a prefix of it. */
    item: z.string().optional(),
    /** Maximum number of items (default: all open items, 100 others). */
    limit: z.number().int().min(1).max(MAX_ITEMS).optional(),
  }),
  output: z.object({
    items: z.array(ShownItem),
    /** Number of items. Null if not all items were read. */
    total: z.number().nullable(),
  }),
  async run({ services }, { state, run: given, item: wanted, limit }) {
    if (wanted !== undefined)
      return { items: [await shownItem(services, await services.inbox.find(wanted))], total: 1 };
    const runId = given === undefined ? undefined : (await findRun(services, given, 'any')).id;
    const { items, total } =
      state === 'open'
        ? await openItems(services, runId, limit ?? MAX_ITEMS)
        : await storedItems(services, { runId, isSettled: state === 'settled' }, limit ?? DEFAULT_LIMIT);
    return { items: await Promise.all(items.map(item => shownItem(services, item))), total };
  },
});

async function openItems({ inbox }: Services, runId: RunId | undefined, limit: number) {
  const open = [...inbox.open(), ...(await inbox.openElsewhere())]
    .filter(item => runId === undefined || item.runId === runId)
    .sort((a, b) => a.deadlineAt - b.deadlineAt || a.createdAt - b.createdAt);
  return { items: open.slice(0, limit), total: open.length };
}

async function storedItems(
  { inbox }: Services,
  filter: { runId: RunId | undefined; isSettled: boolean },
  limit: number,
) {
  const items = await inbox.list({ ...filter, hubs: 'any', limit: limit + 1 });
  return { items: items.slice(0, limit), total: items.length > limit ? null : items.length };
}

async function shownItem({ runner, store }: Services, item: InboxItem): Promise<ShownItem> {
  const run = runner.current(item.runId) ?? (await store.run(item.runId));
  return {
    ...item,
    run: {
      title: run ? runSummary(run) : '',
      name: run ? runName(run) : item.runId,
      roleId: run?.roleId ?? null,
      // A run is removed together with its items. An item without its run is found only if they are removed during this
      // read.
      status: run?.status ?? 'lost',
    },
  };
}

export const answerQuestion = operation({
  name: 'answer_question',
  route: 'POST /inbox/{item}/answer',
  agents: 'lead',
  tool: {
    title: 'Answer question',
    description:
      "Answer what an agent asks (item: its id). Put the user's questions to the user; do not guess.",
    readOnly: false,
  },
  input: z.strictObject({
    item: z.string(),
    answer: z.string().optional(),
    decline: z.boolean().optional(),
  }),
  output: z.object({
    id: z.string(),
    state: InboxState,
    answer: z.string().nullable(),
    question: z.string(),
  }),
  async run({ services, caller, isByModel }, { item: given, answer: said, decline = false }) {
    const { inbox } = services;
    const item = await inbox.find(given);
    const { id } = item;
    await refuseElsewhere(services.store, item.runId);
    if ((said === undefined) !== decline) throw oneOfBoth();
    if (isByModel && !caller.parent && said !== undefined) checkSeen(item, said);
    const by = caller.parent
      ? { who: 'run' as const, via: caller.parent.id }
      : { who: 'user' as const, via: caller.client };
    const { state, answer, question } = await (said === undefined
      ? inbox.decline(id, by)
      : inbox.answer(id, said, by));
    return { id, state, answer, question };
  },
});

const oneOfBoth = () =>
  new SquadError('INVALID_INPUT', 'Give either an answer or decline', {
    suggestions: [
      '{ item, answer } answers; { item, decline: true } tells the agent that nobody will answer.',
    ],
  });

/** Refuses a model's yes to a text of which the model saw only a part. */
function checkSeen(item: InboxItem, said: string): void {
  const { hidden } = shortDetails(item);
  if (item.state !== 'open' || hidden === 0 || ![YES, ALWAYS].includes(answerText(item, said))) return;
  throw new SquadError(
    'ANSWER_INVALID',
    `${item.id} cannot be allowed here: ${hidden} characters of the request were not shown`,
    { suggestions: [`Ask the user to decide: ${SEEN_WHOLE}.`, 'You can answer no here.'] },
  );
}
