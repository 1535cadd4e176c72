import { z } from 'zod';
import { operation } from './operation.ts';

export const hubStatus = operation({
  name: 'hub_status',
  tool: null,
  input: z.strictObject({}),
  output: z.looseObject({ version: z.string(), pid: z.number() }),
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
  tool: null,
  input: z.strictObject({}),
  output: z.object({ pid: z.number(), runsGoOn: z.number() }),
  async run({ services }) {
    const runsGoOn = services.runner.liveRuns().length;
    services.hub.stop('asked to by `squad hub stop`');
    return { pid: services.hub.status().pid, runsGoOn };
  },
});
