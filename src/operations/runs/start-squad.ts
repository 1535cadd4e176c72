import { z } from 'zod';
import { Permission, type Run } from '../../schema/run.ts';
import { NetworkAccess, SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation } from '../../schema/worktree.ts';
import { reportFailure } from '../dispatch.ts';
import { operation } from '../operation.ts';
import { MemberResult, type SquadResult, squadResult } from './run-result.ts';
import {
  Started,
  StatefulRequest,
  StatelessRequest,
  started,
  startMembers,
  TimeoutMs,
} from './start-runs.ts';
import { waitForEndsOrAsks } from './wait.ts';

const result = <T extends z.ZodType>(members: T) =>
  z.object({
    squadId: z.string(),
    status: z.string(),
    members: z.array(members),
    nextOffset: z.number().optional(),
    note: z.string().optional(),
  });

export const startSquadMembers = operation({
  name: 'start_squad_members',
  route: 'POST /tools/start_squad_members',
  agents: 'spawn',
  tool: {
    title: 'Start squad members',
    description:
      'Start one agent per member, all at once, and wait for them. Each gets its role, its task and the reporting rules. ' +
      'Returns status and output of each, in order. If some still run, go on with get_result {squad_id}.',
    readOnly: false,
    statelessInput: StatelessRequest,
    task: answer => {
      const { squadId, status } = answer as SquadResult;
      return { id: squadId, isOpen: status === 'running' };
    },
  },
  input: StatefulRequest,
  output: result(MemberResult),
  async run(call, input) {
    const { squad, runs: planned, warnings } = await startMembers(call, input);
    const runs: Run[] = planned.map(({ run }) => run);
    await waitForEndsOrAsks(call, runs, call.waitMs);
    reportFailure(call, runs);
    return squadResult(call.services, { id: squad.id }, runs, { ...call, warnings });
  },
});

/**
 * Starts runs for a person in a terminal, without waiting. Engine, model, permission, budget and timeout of the call
 * override those of the role.
 */
export const startSquad = operation({
  name: 'start_squad',
  route: 'POST /squads',
  agents: 'spawn',
  input: StatefulRequest.extend({
    engine: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
    permission: Permission.optional(),
    isolation: Isolation.optional(),
    sandbox: SandboxLevel.optional(),
    network: NetworkAccess.optional(),
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
