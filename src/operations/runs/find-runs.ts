import { z } from 'zod';
import { ShownRun, shownRun } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { findRunOrSquad } from './find.ts';

/** The runs that ids or beginnings of ids name, squads with all their members; each once. */
export const findRuns = operation({
  name: 'find_runs',
  route: 'GET /find',
  agents: 'spawn',
  tool: null,
  input: z.strictObject({ ids: z.array(z.string().min(1)).min(1).max(1000) }),
  output: z.object({ runs: z.array(ShownRun) }),
  async run({ services }, { ids }) {
    const found = await Promise.all(ids.map(id => findRunOrSquad(services, id)));
    const runs = new Map(found.flatMap(each => each.runs).map(run => [run.id, shownRun(run)]));
    return { runs: [...runs.values()] };
  },
});
