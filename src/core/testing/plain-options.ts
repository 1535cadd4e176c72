import { optionsOf } from '../runs/run-request.ts';

/** Options of a run that was started without any option. */
export const PLAIN_OPTIONS = optionsOf({ task: 'anything' }, {});
