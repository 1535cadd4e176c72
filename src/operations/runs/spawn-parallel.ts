import { z } from 'zod';
import { isEnd } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { reportFailure } from '../report-failure.ts';
import { ParallelResult, parallelResult } from './parallel-result.ts';
import { isAsync } from './spawn-one.ts';
import { CommonOptions, runRequest, StatefulAgent } from './spawn-request.ts';
import { startMembers } from './start-members.ts';
import { parallelTaskId } from './task-id.ts';
import { waitingCall } from './wait.ts';
import { waitForEndsOrAsks } from './wait-or-asks.ts';

const MOST_AGENTS = 50;

const flags = { aggregate_results: z.boolean().optional(), async: z.boolean().optional() };
const agents = <T extends z.ZodType>(agent: T) => z.array(agent).min(1).max(MOST_AGENTS);

export const spawnParallel = operation({
  name: 'spawn_parallel',
  route: 'POST /tools/spawn_parallel',
  agents: 'spawn',
  tool: {
    title: 'Spawn in parallel',
    description: 'Run several spawn_agent inputs (without async) at once and wait for all.',
    readOnly: false,
    listed: {
      input: z.object({ agents: agents(CommonOptions.loose()), ...flags }),
      output: z.object({
        squad_id: z.string(),
        results: z.array(z.looseObject({})),
        aggregate: z.looseObject({}).optional(),
        note: z.string().optional(),
      }),
    },
    task: (answer, input) => {
      const { squad_id, results } = answer as ParallelResult;
      const { aggregate_results } = input as { aggregate_results?: boolean };
      return {
        id: parallelTaskId(squad_id, aggregate_results === true),
        isOpen: !isAsync(input) && results.some(({ success }) => success === null),
      };
    },
  },
  input: z.strictObject({ agents: agents(StatefulAgent.omit({ async: true })), ...flags }),
  output: ParallelResult,
  async run(call, input) {
    const {
      squad,
      runs: planned,
      warnings,
    } = await startMembers(call, {
      members: input.agents.map(agent => runRequest({ async: input.async, ...agent })),
    });
    const runs = planned.map(({ run }) => run);
    await waitForEndsOrAsks(call, runs, input.async ? 0 : call.waitMs);
    if (runs.some(({ status }) => !isEnd(status)))
      warnings.push(`Not all have finished. ${waitingCall({ squad_id: squad.id }, call.ceilingMs)}`);
    reportFailure(call, runs);
    return parallelResult(call.services, squad.id, runs, {
      aggregates: input.aggregate_results ?? false,
      notes: warnings,
      tool: call.tool,
    });
  },
});
