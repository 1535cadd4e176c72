import type { Answers } from '../../state/operations.ts';

/** Everything known of one run, as the hub tells it. */
export type ShownRun = Answers['show_run'];
export type RunActionShown = Answers['run_actions']['actions'][number];
export type RunActionName = RunActionShown['action'];
