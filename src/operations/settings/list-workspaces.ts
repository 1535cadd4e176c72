import { basename } from 'node:path';
import { z } from 'zod';
import { isEnd } from '../../schema/run.ts';
import { operation } from '../operation.ts';

/** Every workspace that has runs, most recently used first. Those whose folder is gone only while they have live runs. */
export const listWorkspaces = operation({
  name: 'list_workspaces',
  route: 'GET /workspaces',
  input: z.strictObject({}),
  output: z.object({
    workspaces: z.array(
      z.object({
        path: z.string(),
        name: z.string(),
        runs: z.number(),
        /** Runs that have not ended. */
        live: z.number(),
        lastRunAt: z.number(),
      }),
    ),
  }),
  async run({ services: { store, runner, workspaces } }) {
    const live = runner.liveRuns().filter(({ status }) => !isEnd(status));
    const known = (await store.workspaces()).map(each => ({
      ...each,
      name: basename(each.path),
      live: live.filter(({ workspace }) => workspace === each.path).length,
    }));
    const isShown = await Promise.all(known.map(({ path, live }) => live > 0 || workspaces.isThere(path)));
    return { workspaces: known.filter((_, index) => isShown[index]) };
  },
});
