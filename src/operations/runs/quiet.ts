import { isEnd, type Run } from '../../schema/run.ts';
import type { Quiet } from '../../schema/run-card.ts';
import type { Services } from '../operation.ts';

export function quietOf({ runner }: Pick<Services, 'runner'>, { id, status }: Run): Quiet | null {
  // The watch over it may be a moment behind its end.
  const silence = isEnd(status) ? null : runner.silenceOf(id);
  if (silence === null || silence.state === 'working') return null;
  return { state: silence.state, since: silence.since, text: silence.sentence };
}
