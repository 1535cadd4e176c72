import { z } from 'zod';
import { planSquad } from '../core/plan.ts';
import { SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import { squadResult } from './member-result.ts';
import { operation } from './operation.ts';
import { waitForEnds } from './wait.ts';

const member = z.strictObject({
  roleId: z.string(),
  task: z.string(),
  cwd: z.string().optional().describe('Folder to work in, relative to the workspace'),
});
const metadata = z.record(z.string(), z.unknown()).optional();
const memberResult = z.object({
  memberId: z.string(),
  roleId: z.string(),
  cwd: z.string(),
  status: z.string(),
  engine: z.string(),
  rawStdout: z.string(),
  rawStderr: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  truncated: z.boolean().optional(),
  outputFile: z.string().optional(),
});
const result = <T extends z.ZodType>(members: T) =>
  z.object({
    squadId: z.string(),
    members: z.array(members),
    nextOffset: z.number().optional(),
    note: z.string().optional(),
  });

const stateless = z.strictObject({ members: z.array(member).min(1).max(1000), metadata });
const stateful = z.strictObject({
  members: z
    .array(
      member.extend({
        chatId: z.string().min(1).optional().describe('Chat to go on with; none opens a new one'),
      }),
    )
    .min(1)
    .max(1000),
  metadata,
});

export const startSquadMembers = operation({
  name: 'start_squad_members',
  tool: {
    title: 'Start squad members',
    description:
      'Start one agent per member, all at once, and wait for them. Each gets its role, its task and the reporting rules. ' +
      'Returns status and output of each, in order. If some still run, go on with get_result {squad_id}.',
    readOnly: false,
    stateless: { input: stateless, output: result(memberResult) },
  },
  input: stateful,
  output: result(memberResult.extend({ chatId: z.string().optional() })),
  async run(call, input) {
    const { services, caller } = call;
    const [workspace, env] = await Promise.all([
      services.workspaces.open(caller),
      services.workspaces.environment(caller),
    ]);
    if (workspace.config.stateMode.value === 'stateless') refuseChats(input.members);
    const plan = await planSquad(input, {
      workspace,
      caller,
      env,
      engines: services.engines,
      clock: services.clock,
    });
    await services.runner.submit(plan, env);
    const runs: Run[] = plan.runs.map(({ run }) => run);
    await waitForEnds(call, runs, call.waitMs);
    return squadResult(services, plan.squad.id, runs);
  },
});

function refuseChats(members: { chatId?: string }[]): void {
  const at = members.findIndex(({ chatId }) => chatId !== undefined);
  if (at < 0) return;
  throw new SquadError('INVALID_INPUT', `members[${at}] has a chatId, but STATE_MODE is stateless`, {
    suggestions: ['Leave chatId out, or set STATE_MODE=stateful. Nothing was started.'],
  });
}
