import { z } from 'zod';
import { firstThatFit } from '../core/digest.ts';
import { runSummary } from '../schema/run.ts';
import { RESULT_LIMIT } from './member-result.ts';
import { operation } from './operation.ts';

const ROOM_FOR_REST = 100;

export const listRunning = operation({
  name: 'list_running',
  tool: {
    title: 'List running',
    description: 'Agents that are queued or at work now, across all clients.',
    readOnly: true,
  },
  input: z.strictObject({}),
  output: z.object({
    agents: z.array(
      z.object({
        spawn_id: z.string(),
        squad_id: z.string(),
        role_id: z.string().nullable(),
        status: z.string(),
        model: z.string().nullable(),
        started_at: z.string().nullable(),
        elapsed_seconds: z.number().nullable(),
        task_summary: z.string(),
      }),
    ),
    count: z.number(),
    note: z.string().optional(),
  }),
  async run({ services }) {
    const now = services.clock.now();
    const live = services.runner.liveRuns();
    const agents = live.map(run => ({
      spawn_id: run.id,
      squad_id: run.squadId,
      role_id: run.roleId,
      status: run.status,
      model: run.model,
      started_at: run.startedAt === null ? null : new Date(run.startedAt).toISOString(),
      elapsed_seconds: run.startedAt === null ? null : (now - run.startedAt) / 1000,
      task_summary: runSummary(run),
    }));
    const shown = firstThatFit(agents, RESULT_LIMIT - ROOM_FOR_REST);
    return {
      agents: shown,
      count: live.length,
      ...(shown.length < live.length && { note: `${live.length - shown.length} more are not shown` }),
    };
  },
});
