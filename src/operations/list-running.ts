import { z } from 'zod';
import { firstThatFit } from '../core/digest.ts';
import { namedSummary } from '../schema/run.ts';
import { askNotes, asksOf, ShownAsk } from './asks-of.ts';
import { RESULT_LIMIT } from './member-result.ts';
import { operation } from './operation.ts';

const ROOM_FOR_REST = 300;

const result = <T extends z.ZodType>(agent: T) =>
  z.object({ agents: z.array(agent), count: z.number(), note: z.string().optional() });
const Agent = z.object({
  spawn_id: z.string(),
  squad_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  model: z.string().nullable(),
  started_at: z.string().nullable(),
  elapsed_seconds: z.number().nullable(),
  task_summary: z.string(),
});

export const listRunning = operation({
  name: 'list_running',
  tool: {
    title: 'List running',
    description: 'Agents that are queued or at work now, across all clients.',
    readOnly: true,
    listed: { output: result(z.looseObject({})) },
  },
  input: z.strictObject({}),
  output: result(Agent).extend({ asks: z.array(ShownAsk).optional() }),
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
      task_summary: namedSummary(run),
    }));
    const asked = asksOf(services, live);
    const room = RESULT_LIMIT - ROOM_FOR_REST - JSON.stringify(asked).length;
    const shown = firstThatFit(agents, room);
    const left = live.length - shown.length;
    const notes = [...askNotes(services, live), ...(left > 0 ? [`${left} more are not shown`] : [])];
    return {
      agents: shown,
      count: live.length,
      ...asked,
      ...(notes.length > 0 && { note: notes.join(' ') }),
    };
  },
});
