import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import { shellWord } from '../../../../src/schema/shell-word.ts';
import { plural } from '../../../ui/figures.ts';

interface SquadAction {
  /** Effect that is shown before the confirmation. */
  effect: string;
  /** Terminal command with the same effect as the action. */
  command: string;
  /** Why the action is not possible now. Null if it is. */
  why: string | null;
}

/**
 * Actions on a whole squad, with the reason if one is not possible. They affect the members, but not runs that the
 * members started.
 */
export function squadActions(
  squadId: string,
  cards: readonly RunCard[],
): Record<'cancel' | 'retry' | 'integrate', SquadAction> {
  const own = cards.filter(card => card.squadId === squadId);
  const atWork = cards.filter(({ endedAt }) => endedAt === null);
  const ownAtWork = own.filter(({ endedAt }) => endedAt === null);
  const failed = own.filter(({ endedAt, status }) => endedAt !== null && status !== 'completed');
  const withBranch = cards.filter(({ branch, reviewOf }) => branch !== null && reviewOf === null);
  return {
    cancel: {
      effect: `Stops ${plural(atWork.length, 'agent')}: ${names(atWork)}, and the runs they started. Their output and work trees are kept.`,
      command: `squad cancel ${shellWord(squadId)}`,
      why: ownAtWork.length === 0 ? 'None of its runs is running.' : null,
    },
    retry: {
      effect: `Starts ${plural(failed.length, 'run')} again with the same task, as a new squad: ${names(failed)}. The existing runs are kept.`,
      command: `squad retry ${shellWord(squadId)}`,
      why: own.some(({ reviewOf }) => reviewOf !== null)
        ? 'Reviewers are started by their coder: request another review instead.'
        : ownAtWork.length > 0
          ? `Still running: ${names(ownAtWork)}. Wait, or cancel first.`
          : failed.length === 0
            ? 'Every run completed.'
            : null,
    },
    integrate: {
      effect: 'Runs a trial merge and shows the result. No branch is changed.',
      command: `squad integrate ${shellWord(squadId)}`,
      why: withBranch.length === 0 ? 'None of its runs has its own branch.' : null,
    },
  };
}

const MAX_NAMES = 4;

function names(cards: readonly RunCard[]): string {
  const all = cards.map(runName);
  if (all.length <= MAX_NAMES) return all.join(', ');
  return `${all.slice(0, MAX_NAMES).join(', ')} and ${all.length - MAX_NAMES} more`;
}
