import { z } from 'zod';
import { RunId } from '../../schema/ids.ts';
import { operation } from '../operation.ts';

/** Carries out exactly what a plan showed: the target goes to its result, or stays where it is. */
export const integrate = operation({
  name: 'integrate',
  route: 'POST /integration',
  agents: null,
  tool: null,
  input: z.strictObject({
    /** The plan's id. */
    approve: z.string().min(1),
    /** Also removes the work trees of what was merged. */
    remove: z.boolean().default(false),
  }),
  output: z.object({
    target: z.string(),
    from: z.string(),
    to: z.string(),
    merged: z.array(z.object({ runId: RunId, branch: z.string(), commit: z.string() })),
    removed: z.array(z.object({ runId: RunId, path: z.string(), kept: z.string().nullable() })),
    notes: z.array(z.string()),
  }),
  run: ({ services }, { approve, remove }) => services.integrator.carryOut(approve, { remove }),
});
