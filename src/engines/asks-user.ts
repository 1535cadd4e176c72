import type { RunOptions } from '../schema/run.ts';

/**
 * True if the agent has to ask the user for permissions, in a CLI that can do so. The CLI then reads the answers from an
 * input file while it works. The hub can write that file only on its own machine.
 */
export const asksUser = ({
  approvals,
  permission,
  machine,
  promptOnly,
}: Pick<RunOptions, 'approvals' | 'permission' | 'machine' | 'promptOnly'>): true | undefined =>
  (approvals === 'ask' && permission !== 'full' && machine === null && !promptOnly) || undefined;
