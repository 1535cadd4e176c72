import { SquadError } from '../../schema/error.ts';

const AGAIN = 'Plan again: squad integrate. Nothing was merged.';

export const branchMoved = (target: string, cause?: unknown): SquadError =>
  new SquadError('BRANCH_MOVED', `${target} has moved since the plan was made`, {
    suggestions: [AGAIN],
    cause,
  });

export const checkedOutOtherwise = (target: string): SquadError =>
  new SquadError('TARGET_BLOCKED', `${target} is checked out otherwise than when the plan was made`, {
    suggestions: [AGAIN],
  });

export const targetBlocked = (target: string, folder: string, obstacles: readonly string[]): SquadError =>
  new SquadError('TARGET_BLOCKED', `${target} is checked out at ${folder}: ${obstacles.join('; ')}`, {
    suggestions: ['Commit, stash or move that away, then try again. Nothing was merged.'],
  });

export const planUnknown = (planId: string): SquadError =>
  new SquadError(
    'PLAN_UNKNOWN',
    `There is no plan ${planId}: it was carried out, or the hub has started anew`,
    {
      suggestions: [AGAIN],
    },
  );
