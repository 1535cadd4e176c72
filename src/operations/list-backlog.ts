import { z } from 'zod';
import { operation } from './operation.ts';

const Item = z.object({
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
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    groups: z.array(
      z.object({ title: z.string().nullable(), items: z.array(Item), text: z.string().nullable() }),
    ),
    notes: z.array(z.string()),
  }),
  run: async ({ services, caller }) => (await services.workspaces.open(caller)).team.backlog(),
});
