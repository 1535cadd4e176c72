import { z } from 'zod';
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
