import { z } from 'zod';
import { Permission, type Run } from '../../schema/run.ts';
import { NetworkAccess, SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation } from '../../schema/worktree.ts';
import { reportFailure } from '../dispatch.ts';
import { operation } from '../operation.ts';
import { refuseStartedItems } from '../team/backlog.ts';
import { MemberResult, type SquadResult, squadResult } from './run-result.ts';
import {
  ChatMember,
  request,
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

const Engine = z.string().min(1);
const Budget = z.number().positive('a budget is more than 0; leave it out for none');

/**
 * Starts runs for a person, without waiting. Engine, model, permission, budget and timeout of the call override those of
 * the role, and those of a member override both.
 */
export const startSquad = operation({
  name: 'start_squad',
  route: 'POST /squads',
  agents: 'spawn',
  input: request(
    ChatMember.extend({
      engine: Engine.optional(),
      budgetUsd: Budget.optional(),
      /** Key of the backlog item that the member works on, from list_backlog. */
      backlog: z.string().min(1).max(40).optional(),
    }),
  ).extend({
    engine: Engine.optional(),
    model: z.string().min(1).optional(),
    permission: Permission.optional(),
    isolation: Isolation.optional(),
    sandbox: SandboxLevel.optional(),
    network: NetworkAccess.optional(),
    budgetUsd: Budget.optional(),
    timeoutMs: TimeoutMs.optional(),
    machine: z.string().min(1).max(200).optional(),
    /** True to start backlog items that were started before. */
    again: z.boolean().default(false),
  }),
  output: Started,
  async run(call, input) {
    const { members, again, ...asked } = input;
    const items = members.map(({ backlog }) => backlog ?? null);
    const keys = items.filter(key => key !== null);
    if (keys.length > 0 && !again)
      await refuseStartedItems(call.services, (await call.services.workspaces.open(call.caller)).root, keys);
    const { metadata: given, ...options } = asked;
    const metadata = keys.length > 0 ? { ...given, backlog: items } : given;
    const requests = members.map(({ backlog, ...member }) => ({ ...options, ...member }));
    return started(await startMembers(call, { metadata, members: requests }));
  },
});
