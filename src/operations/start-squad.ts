import { z } from 'zod';
import { operation } from './operation.ts';
import { StatefulRequest, startMembers } from './start-members.ts';

/** What a person at the terminal starts: their own word on engine and time outranks what a role says. Does not wait. */
export const startSquad = operation({
  name: 'start_squad',
  tool: null,
  input: StatefulRequest.extend({
    engine: z.string().min(1).optional(),
    timeoutMs: z
      .number()
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .optional(),
  }),
  output: z.object({ squadId: z.string(), runIds: z.array(z.string()), warnings: z.array(z.string()) }),
  async run(call, input) {
    const { members, metadata, ...asked } = input;
    const { squad, runs, warnings } = await startMembers(call, {
      metadata,
      members: members.map(member => ({ ...member, ...asked })),
    });
    return { squadId: squad.id, runIds: runs.map(({ run }) => run.id), warnings };
  },
});
