import type { RunOptions } from '../schema/run.ts';

/**
 * True if a CLI that can ask the user has to do so, for which it reads lines while it works. The hub can write the input
 * file only on its own machine.
 */
export const asksUser = ({
  approvals,
  permission,
  machine,
  promptOnly,
}: Pick<RunOptions, 'approvals' | 'permission' | 'machine' | 'promptOnly'>): true | undefined =>
  (approvals === 'ask' && permission !== 'full' && machine === null && !promptOnly) || undefined;
