import { z } from 'zod';
import { BacklogGroup, BacklogItem } from '../../core/team/backlog.ts';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';

const Item = z.object({
  /** Number of the item, from 1, in the order of the file; used by edit_backlog. */
  number: z.number(),
  ...BacklogItem.shape,
});

/** The items of `.squad/backlog.md`. */
export const listBacklog = operation({
  name: 'list_backlog',
  route: 'GET /backlog',
  agents: 'always',
  input: z.strictObject({}),
  output: z.object({
    groups: z.array(BacklogGroup.extend({ items: z.array(Item) })),
    notes: z.array(z.string()),
    /** Changes whenever the file changes. */
    revision: z.string(),
  }),
  async run({ services, caller }) {
    const { team } = await services.workspaces.open(caller);
    const { groups, ...rest } = await team.backlog();
    let number = 0;
    return {
      groups: groups.map(group => ({
        ...group,
        items: group.items.map(item => ({ number: ++number, ...item })),
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
  /** For `move`: the item before which it is put. */
  before: ItemNumber.optional(),
  /** For `add`: the title, which may contain tags such as [P1] and (#12). */
  title: z.string().max(MAX_TITLE_LENGTH).optional(),
  owner: z.string().regex(OWNER, 'is a name of letters, digits, dots, dashes').optional(),
  /** For `add`: the heading (default: the first heading with an open item). */
  under: z.string().max(200).optional(),
  /** Revision from list_backlog: the change is refused if the file has changed since. */
  revision: z.string().optional(),
});

/** One change of `.squad/backlog.md`. */
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
