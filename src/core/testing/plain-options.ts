import type { RunOptions } from '../../schema/run.ts';
import { optionsOf } from '../runs/run-request.ts';

/** What a run has that asks for nothing. */
export const PLAIN_OPTIONS: RunOptions = {
  ...optionsOf({ task: 'anything' }, {}),
  outputSchema: null,
  setup: null,
  onEnd: null,
  onAsk: null,
  takesUp: null,
};
