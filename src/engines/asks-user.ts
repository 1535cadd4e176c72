import type { RunOptions } from '../schema/run.ts';

/**
 * True if a CLI that can read lines while it works has to do so. The hub can write the input file only on its own
 * machine.
 */
export const readsLines = ({
  machine,
  promptOnly,
}: Pick<RunOptions, 'machine' | 'promptOnly'>): true | undefined =>
  (machine === null && !promptOnly) || undefined;

/** True if a CLI that can ask the user has to do so, for which it reads lines while it works. */
export const asksUser = ({
  approvals,
  permission,
  ...options
}: Pick<RunOptions, 'approvals' | 'permission' | 'machine' | 'promptOnly'>): true | undefined =>
  (approvals === 'ask' && permission !== 'full' && readsLines(options)) || undefined;
