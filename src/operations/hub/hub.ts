import { z } from 'zod';
import { descendantsOf } from '../../core/runs/descendants.ts';
import { isSubagentCall } from '../../core/subagents/plan-subagent.ts';
import { HubStatus, operation } from '../operation.ts';

export const hubStatus = operation({
  name: 'hub_status',
  route: 'GET /hub',
  agents: null,
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    ...HubStatus.shape,
    runsActive: z.number(),
    runsQueued: z.number(),
  }),
  async run({ services }) {
    const live = services.runner.liveRuns();
    return {
      ...services.hub.status(),
      runsActive: live.filter(run => run.status !== 'queued').length,
      runsQueued: live.filter(run => run.status === 'queued').length,
    };
  },
});

export const stopHub = operation({
  name: 'stop_hub',
  route: 'POST /hub/stop',
  agents: null,
  tool: null,
  input: z.strictObject({}),
  /** `callsEnd`: calls of subagents, with whatever was started for them. */
  output: z.object({ pid: z.number(), runsGoOn: z.number(), callsEnd: z.number() }),
  async run({ services }) {
    const live = services.runner.liveRuns();
    const calls = live.filter(isSubagentCall);
    const below = await Promise.all(calls.map(({ id }) => descendantsOf(services.store, id)));
    const ending = new Set([...calls, ...below.flat()].map(({ id }) => id));
    services.hub.stop('asked to by `squad hub stop`');
    return {
      pid: services.hub.status().pid,
      runsGoOn: live.filter(({ id }) => !ending.has(id)).length,
      callsEnd: calls.length,
    };
  },
});
