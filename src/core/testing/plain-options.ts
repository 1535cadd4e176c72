import { optionsOf } from '../runs/run-request.ts';

/** The options of a run that asks for nothing. */
export const PLAIN_OPTIONS = optionsOf({ task: 'anything' }, {});
