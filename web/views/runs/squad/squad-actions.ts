import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import { shellWord } from '../../../../src/schema/shell-word.ts';

export interface SquadAction {
  /** What it will do, said before. */
  effect: string;
  /** The same in a terminal. */
  command: string;
  /** Why it cannot be done now; null: it can. */
  why: string | null;
}

/** What can be done with a squad as a whole, and why not the rest. Its runs only: not those they started. */
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
      effect: `Stops ${count(atWork.length, 'agent')}: ${names(atWork)}, and whatever they started. What they wrote and their work trees stay.`,
      command: `squad cancel ${shellWord(squadId)}`,
      why: ownAtWork.length === 0 ? 'Nobody of it is at work.' : null,
    },
    retry: {
      effect: `Starts ${count(failed.length, 'run')} anew with the same task, as a new squad: ${names(failed)}. These here stay as they are.`,
      command: `squad retry ${shellWord(squadId)}`,
      why: own.some(({ reviewOf }) => reviewOf !== null)
        ? 'Its coder starts a reviewer: ask for another review instead.'
        : ownAtWork.length > 0
          ? `${names(ownAtWork)} still at work: wait, or cancel first.`
          : failed.length === 0
            ? 'Every run completed.'
            : null,
    },
    integrate: {
      effect: 'Merges in a trial and shows what would come of it. No branch is changed.',
      command: `squad integrate ${shellWord(squadId)}`,
      why: withBranch.length === 0 ? 'None of its runs has a branch of its own.' : null,
    },
  };
}

const count = (many: number, what: string) => `${many} ${what}${many === 1 ? '' : 's'}`;

const MAX_NAMES = 4;

function names(cards: readonly RunCard[]): string {
  const all = cards.map(runName);
  if (all.length <= MAX_NAMES) return all.join(', ');
  return `${all.slice(0, MAX_NAMES).join(', ')} and ${all.length - MAX_NAMES} more`;
}
