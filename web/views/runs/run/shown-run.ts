import type { Output } from '../../../../src/operations/operations.ts';

/** All data of one run, as the hub sends it. */
export type ShownRun = Output<'show_run'>;
export type RunActionShown = Output<'run_actions'>['actions'][number];
export type RunActionName = RunActionShown['action'];
