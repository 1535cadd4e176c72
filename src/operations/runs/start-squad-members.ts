import { z } from 'zod';
import type { Run } from '../../schema/run.ts';
import { reportFailure } from '../dispatch.ts';
import { operation } from '../operation.ts';
import { type SquadResult, squadResult } from './member-result.ts';
import { StatefulRequest, StatelessRequest, startMembers } from './start-runs.ts';
import { waitForEndsOrAsks } from './wait.ts';

const memberResult = z.object({
  memberId: z.string(),
  roleId: z.string(),
  cwd: z.string(),
  status: z.string(),
  engine: z.string(),
  rawStdout: z.string(),
  rawStderr: z.string(),
  evidence: z
    .object({ verdict: z.string(), files_changed: z.number().nullable(), tool_calls: z.number().nullable() })
    .optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  note: z.string().optional(),
  truncated: z.boolean().optional(),
  outputFile: z.string().optional(),
});
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
    stateless: { input: StatelessRequest, output: result(memberResult) },
    task: answer => {
      const { squadId, status } = answer as SquadResult;
      return { id: squadId, isOpen: status === 'running' };
    },
  },
  input: StatefulRequest,
  output: result(memberResult.extend({ chatId: z.string().optional() })),
  async run(call, input) {
    const { squad, runs: planned, warnings } = await startMembers(call, input);
    const runs: Run[] = planned.map(({ run }) => run);
    await waitForEndsOrAsks(call, runs, call.waitMs);
    reportFailure(call, runs);
    return squadResult(call.services, { id: squad.id }, runs, { ...call, warnings });
  },
});
