import { z } from 'zod';
import { isEnd, type Run } from '../schema/run.ts';
import type { Services } from './operation.ts';

/** A run at work that gives no sign, and since when. */
export const Quiet = z.object({
  state: z.enum(['slow_start', 'silent', 'stalled', 'dead']),
  since: z.number(),
  text: z.string(),
});
export type Quiet = z.infer<typeof Quiet>;

export function quietOf({ runner }: Pick<Services, 'runner'>, { id, status }: Run): Quiet | null {
  // The watch over it may be a moment behind its end.
  const silence = isEnd(status) ? null : runner.silenceOf(id);
  if (silence === null || silence.state === 'working') return null;
  return { state: silence.state, since: silence.since, text: silence.sentence };
}
