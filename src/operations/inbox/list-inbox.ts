import { z } from 'zod';
import type { RunId } from '../../schema/ids.ts';
import { InboxItem } from '../../schema/inbox.ts';
import { RunStatus, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

const MAX_ITEMS = 1_000;
const USUAL = 100;

/** An item with what is to be known of who asks. */
export const ShownItem = InboxItem.extend({
  run: z.object({
    title: z.string(),
    /** Who asks. */
    name: z.string(),
    roleId: z.string().nullable(),
    status: RunStatus,
  }),
});
export type ShownItem = z.infer<typeof ShownItem>;

/** What agents want of somebody: all that is open, nearest deadline first; or what was settled, or everything, newest first. */
export const listInbox = operation({
  name: 'list_inbox',
  route: 'GET /inbox',
  agents: 'lead',
  tool: null,
  input: z.strictObject({
    state: z.enum(['open', 'settled', 'all']).default('open'),
    run: z.string().optional(),
    /** Only this one, whatever became of it: its id or the beginning of it. */
    item: z.string().optional(),
    /** Of open ones all that can be listed, of others 100, unless it says so. */
    limit: z.number().int().min(1).max(MAX_ITEMS).optional(),
  }),
  output: z.object({
    items: z.array(ShownItem),
    /** How many there are; null: more than these, not counted. */
    total: z.number().nullable(),
  }),
  async run({ services }, { state, run: given, item: wanted, limit }) {
    if (wanted !== undefined)
      return { items: [await shownItem(services, await services.inbox.find(wanted))], total: 1 };
    const runId = given === undefined ? undefined : (await findRun(services, given)).id;
    const { items, total } =
      state === 'open'
        ? openItems(services, runId, limit ?? MAX_ITEMS)
        : await storedItems(services, { runId, isSettled: state === 'settled' }, limit ?? USUAL);
    return { items: await Promise.all(items.map(item => shownItem(services, item))), total };
  },
});

function openItems({ inbox }: Services, runId: RunId | undefined, limit: number) {
  const open = inbox.open().filter(item => runId === undefined || item.runId === runId);
  return { items: open.slice(0, limit), total: open.length };
}

async function storedItems(
  { inbox }: Services,
  filter: { runId: RunId | undefined; isSettled: boolean },
  limit: number,
) {
  const items = await inbox.list({ ...filter, limit: limit + 1 });
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
      // Its rows go together; only a reader between two of them finds one without the other.
      status: run?.status ?? 'lost',
    },
  };
}
