import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';

const Item = z.object({
  /** From 1, in the order of the file: what edit_backlog calls it by. */
  number: z.number(),
  title: z.string(),
  done: z.boolean(),
  issue: z.string().nullable(),
  owner: z.string().nullable(),
  priority: z.string().nullable(),
  notes: z.string().nullable(),
});

/** What the team has before it, as `.squad/backlog.md` says. */
export const listBacklog = operation({
  name: 'list_backlog',
  route: 'GET /backlog',
  agents: 'always',
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    groups: z.array(
      z.object({ title: z.string().nullable(), items: z.array(Item), text: z.string().nullable() }),
    ),
    notes: z.array(z.string()),
    /** Another one whenever the file has changed. */
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

/** One change of `.squad/backlog.md`, as a person would make it in an editor. */
export const editBacklog = operation({
  name: 'edit_backlog',
  route: 'POST /backlog',
  agents: null,
  tool: null,
  input: z.strictObject({
    action: z.enum(['add', 'done', 'reopen', 'move', 'up', 'down']),
    /** Of the item, as list_backlog has it; for everything but `add`. */
    number: ItemNumber.optional(),
    /** For `move`: the item it is to stand before. */
    before: ItemNumber.optional(),
    /** For `add`; tags such as [P1] and (#12) may be in it. */
    title: z.string().max(MAX_TITLE_LENGTH).optional(),
    owner: z.string().regex(OWNER, 'is a name of letters, digits, dots, dashes').optional(),
    /** For `add`: the heading; otherwise the first with something open. */
    under: z.string().max(200).optional(),
    /** Of list_backlog: the change is refused if the file is another one by now. */
    revision: z.string().optional(),
  }),
  output: z.object({
    /** Of the item, as it is now. */
    number: z.number(),
    title: z.string(),
  }),
  async run({ services, caller }, { revision, ...asked }) {
    const { team } = await services.workspaces.open(caller);
    return team.changeBacklog(editOf(asked), revision ?? null);
  },
});

interface Asked {
  action: 'add' | 'done' | 'reopen' | 'move' | 'up' | 'down';
  number?: number;
  before?: number;
  title?: string;
  owner?: string;
  under?: string;
}

function editOf({ action, number, before, title, owner, under }: Asked) {
  if (action === 'add') return { action, title: given(title, 'title', action), owner, under };
  if (action === 'move')
    return { action, number: given(number, 'number', action), before: given(before, 'before', action) };
  return { action, number: given(number, 'number', action) };
}

function given<T>(value: T | undefined, name: string, action: string): T {
  if (value !== undefined) return value;
  throw new SquadError('INVALID_INPUT', `${action} needs ${name}`);
}
