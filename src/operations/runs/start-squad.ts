import { z } from 'zod';
import { Permission } from '../../schema/run.ts';
import { Isolation } from '../../schema/worktree.ts';
import { operation } from '../operation.ts';
import { Started, StatefulRequest, started, startMembers, TimeoutMs } from './start-runs.ts';

/** Starts runs for a person in a terminal, without waiting. Engine, model, permission, budget and timeout of the call outrank the role. */
export const startSquad = operation({
  name: 'start_squad',
  route: 'POST /squads',
  agents: 'spawn',
  input: StatefulRequest.extend({
    engine: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
    permission: Permission.optional(),
    isolation: Isolation.optional(),
    budgetUsd: z.number().positive('a budget is more than 0; leave it out for none').optional(),
    timeoutMs: TimeoutMs.optional(),
  }),
  output: Started,
  async run(call, input) {
    const { members, metadata, ...asked } = input;
    const request = { metadata, members: members.map(member => ({ ...member, ...asked })) };
    return started(await startMembers(call, request));
  },
});
