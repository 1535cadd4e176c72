import { z } from 'zod';
import { BacklogGroup, BacklogItem, backlogKey } from '../../core/team/backlog.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, ShownStatus } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';
import { currentRun } from '../runs/find-runs.ts';

const Item = z.object({
  /** Number of the item, from 1, in the order of the file; used by edit_backlog. */
  number: z.number(),
  ...BacklogItem.shape,
  /** Key for `start_squad`. The key stays the same when the item moves in the file. */
  key: z.string(),
  /** The last run that was started for the item. */
  run: z.object({ id: RunId, status: ShownStatus }).nullable(),
});

const MAX_MEMBERS = 1_000;

/** Returns the last run of each of these items, by key. */
export async function runsOfItems(
  services: Pick<Services, 'store' | 'runner'>,
  workspace: string,
  keys: ReadonlySet<string>,
): Promise<Map<string, Run>> {
  const found = new Map<string, Run>();
  for (const { id, metadata } of await services.store.squadsOfBacklog(workspace)) {
    const items = Array.isArray(metadata?.backlog) ? metadata.backlog : [];
    const wanted = items.some(key => keys.has(key) && !found.has(key));
    if (!wanted) continue;
    for (const row of await services.store.runs({ squadId: id, limit: MAX_MEMBERS })) {
      const key = items[row.position];
      if (keys.has(key) && !found.has(key)) found.set(key, await currentRun(services, row));
    }
  }
  return found;
}

/** Throws if the last run of an item has not ended or was successful. */
export async function refuseStartedItems(
  services: Pick<Services, 'store' | 'runner'>,
  workspace: string,
  keys: readonly string[],
): Promise<void> {
  for (const run of (await runsOfItems(services, workspace, new Set(keys))).values()) {
    if (isEnd(run.status) && run.status !== 'completed') continue;
    const what = isEnd(run.status) ? 'has completed' : 'has not ended';
    throw new SquadError('BACKLOG_ITEM_STARTED', `This backlog item was already started: ${run.id} ${what}`, {
      suggestions: [
        `\`squad show ${shellWord(run.id)}\` shows that run. Nothing was started.`,
        'To start the item once more, start it again with `again: true`.',
      ],
    });
  }
}

/** The items of `.squad/backlog.md`. */
export const listBacklog = operation({
  name: 'list_backlog',
  route: 'GET /backlog',
  agents: 'always',
  input: z.strictObject({}),
  output: z.object({
    groups: z.array(BacklogGroup.extend({ items: z.array(Item) })),
    notes: z.array(z.string()),
    /** Revision of the file. It changes whenever the file changes. */
    revision: z.string(),
  }),
  async run({ services, caller }) {
    const { team, root } = await services.workspaces.open(caller);
    const { groups, ...rest } = await team.backlog();
    const keys = new Set(groups.flatMap(({ items }) => items.map(backlogKey)));
    const runs = await runsOfItems(services, root, keys);
    const lastRun = (key: string) => {
      const run = runs.get(key);
      return run ? { id: run.id, status: shownStatus(run) } : null;
    };
    let number = 0;
    return {
      groups: groups.map(group => ({
        ...group,
        items: group.items.map(item => {
          const key = backlogKey(item);
          return { number: ++number, ...item, key, run: lastRun(key) };
        }),
      })),
      ...rest,
    };
  },
});

const OWNER = /^@?[\p{L}\p{N}][\p{L}\p{N}_.-]{0,60}$/u;
const MAX_TITLE_LENGTH = 300;

const ItemNumber = z.number().int().min(1);

const EditInput = z.strictObject({
  action: z.enum(['add', 'done', 'reopen', 'move', 'up', 'down']),
  /** Number from list_backlog; for every action except `add`. */
  number: ItemNumber.optional(),
  /** Only for `move`: the number of the item above which the moved item is put. */
  before: ItemNumber.optional(),
  /** For `add`: the title, which may contain tags such as [P1] and (#12). */
  title: z.string().max(MAX_TITLE_LENGTH).optional(),
  owner: z.string().regex(OWNER, 'is a name of letters, digits, dots, dashes').optional(),
  /** For `add`: the heading (default: the first heading with an open item). */
  under: z.string().max(200).optional(),
  /** Revision from list_backlog: the change is refused if the file has changed since. */
  revision: z.string().optional(),
});

/** Makes one change to `.squad/backlog.md`. */
export const editBacklog = operation({
  name: 'edit_backlog',
  route: 'POST /backlog',
  input: EditInput,
  output: z.object({
    /** Number of the item after the change. */
    number: z.number(),
    title: z.string(),
  }),
  async run({ services, caller }, { revision, ...asked }) {
    const { team } = await services.workspaces.open(caller);
    return team.changeBacklog(editOf(asked), revision ?? null);
  },
});

function editOf({
  action,
  number,
  before,
  title,
  owner,
  under,
}: Omit<z.output<typeof EditInput>, 'revision'>) {
  if (action === 'add') return { action, title: given(title, 'title', action), owner, under };
  if (action === 'move')
    return { action, number: given(number, 'number', action), before: given(before, 'before', action) };
  return { action, number: given(number, 'number', action) };
}

function given<T>(value: T | undefined, name: string, action: string): T {
  if (value !== undefined) return value;
  throw new SquadError('INVALID_INPUT', `The action "${action}" needs "${name}"`, {
    suggestions: [`Send "${name}" with the request.`],
  });
}
