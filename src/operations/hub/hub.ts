import { z } from 'zod';
import { descendantsOf } from '../../core/runs/descendants.ts';
import { isSubagentCall } from '../../core/subagents/plan-subagent.ts';
import { HubStatus, operation } from '../operation.ts';

export const hubStatus = operation({
  name: 'hub_status',
  route: 'GET /hub',
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
  input: z.strictObject({}),
  /** `callsEnd`: number of subagent calls that end with the hub, with everything they started. */
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

/**
 * Returns the address of the web UI and a key that admits one browser, for the terminal that opens it. A browser has no
 * environment, so runs that are started in the web UI get the environment of the terminal that opened it last, and find
 * the same programs and keys.
 */
export const openWebUi = operation({
  name: 'open_page',
  // no HTTP route: only the terminal that opens the web UI may call this, because it passes on its environment
  route: null,
  input: z.strictObject({
    /** Use 127.0.0.1, for browsers that do not resolve the host name of the web UI. */
    ip: z.boolean().default(false),
  }),
  output: z.object({
    /** Address of the web UI. Null if the hub has no port. */
    opened: z.object({ origin: z.string(), key: z.string() }).nullable(),
    warnings: z.array(z.string()),
  }),
  async run({ services, caller }, { ip }) {
    services.hub.lendEnvironment(caller.env);
    const { warnings } = services.hub.status();
    return { opened: await services.hub.openWebUi(ip), warnings };
  },
});
