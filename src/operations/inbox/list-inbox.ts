import { z } from 'zod';
import type { RunId } from '../../schema/ids.ts';
import { InboxItem } from '../../schema/inbox.ts';
import { RunStatus, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

const MAX_ITEMS = 1_000;
const DEFAULT_LIMIT = 100;

/** An item with the run that asks. */
export const ShownItem = InboxItem.extend({
  run: z.object({
    title: z.string(),
    name: z.string(),
    roleId: z.string().nullable(),
    status: RunStatus,
  }),
});
export type ShownItem = z.infer<typeof ShownItem>;

/** Open items, nearest deadline first; or closed ones, or all, newest first. */
export const listInbox = operation({
  name: 'list_inbox',
  route: 'GET /inbox',
  agents: 'lead',
  input: z.strictObject({
    state: z.enum(['open', 'settled', 'all']).default('open'),
    run: z.string().optional(),
    /** Only this item, open or closed: its id or a prefix of it. */
    item: z.string().optional(),
    /** Default: all open items, 100 others. */
    limit: z.number().int().min(1).max(MAX_ITEMS).optional(),
  }),
  output: z.object({
    items: z.array(ShownItem),
    /** Null: more than these, not counted. */
    total: z.number().nullable(),
  }),
  async run({ services }, { state, run: given, item: wanted, limit }) {
    if (wanted !== undefined)
      return { items: [await shownItem(services, await services.inbox.find(wanted))], total: 1 };
    const runId = given === undefined ? undefined : (await findRun(services, given)).id;
    const { items, total } =
      state === 'open'
        ? openItems(services, runId, limit ?? MAX_ITEMS)
        : await storedItems(services, { runId, isSettled: state === 'settled' }, limit ?? DEFAULT_LIMIT);
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
      // A run is removed with its items: only a read in between finds an item without its run.
      status: run?.status ?? 'lost',
    },
  };
}
