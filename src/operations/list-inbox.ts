import { z } from 'zod';
import { InboxItem } from '../schema/inbox.ts';
import { RunStatus, runSummary } from '../schema/run.ts';
import { findRun } from './find.ts';
import { operation, type Services } from './operation.ts';

/** An item with what is to be known of who asks. */
export const ShownItem = InboxItem.extend({
  run: z.object({ title: z.string(), roleId: z.string().nullable(), status: RunStatus }),
});
export type ShownItem = z.infer<typeof ShownItem>;

/** What agents want of somebody: the open ones, nearest deadline first, or everything, newest first. */
export const listInbox = operation({
  name: 'list_inbox',
  tool: null,
  input: z.strictObject({
    state: z.enum(['open', 'all']).default('open'),
    run: z.string().optional(),
    /** Only this one, whatever became of it: its id or the beginning of it. */
    item: z.string().optional(),
    limit: z.number().int().min(1).max(500).default(100),
  }),
  output: z.object({ items: z.array(ShownItem) }),
  async run({ services }, { state, run: given, item: wanted, limit }) {
    if (wanted !== undefined)
      return { items: [await shownItem(services, await services.inbox.find(wanted))] };
    const runId = given === undefined ? undefined : (await findRun(services, given)).id;
    const items =
      state === 'all'
        ? await services.inbox.list({ runId, limit })
        : services.inbox
            .open()
            .filter(item => runId === undefined || item.runId === runId)
            .slice(0, limit);
    return { items: await Promise.all(items.map(item => shownItem(services, item))) };
  },
});

async function shownItem({ runner, store }: Services, item: InboxItem): Promise<ShownItem> {
  const run = runner.current(item.runId) ?? (await store.run(item.runId));
  return {
    ...item,
    run: {
      title: run ? runSummary(run) : '',
      roleId: run?.roleId ?? null,
      // Its rows go together; only a reader between two of them finds one without the other.
      status: run?.status ?? 'lost',
    },
  };
}
