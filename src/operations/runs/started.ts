import { z } from 'zod';
import type { StartedSquad } from './start-members.ts';

/** What the terminal is told of runs that are on disk now and queued or at work. */
export const Started = z.object({
  squadId: z.string(),
  runIds: z.array(z.string()),
  warnings: z.array(z.string()),
});
export type Started = z.infer<typeof Started>;

export const started = ({ squad, runs, warnings }: StartedSquad): Started => ({
  squadId: squad.id,
  runIds: runs.map(({ run }) => run.id),
  warnings,
});
