import { nearest } from '../../base/nearest.ts';
import { oneLine } from '../../base/one-line.ts';
import { visibleText } from '../../base/visible-text.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { type InboxItem, whoAnswered, whyWithdrawn } from '../../schema/inbox.ts';

export function alreadySettled(item: InboxItem): SquadError {
  const { id, state, answer, answeredBy, answeredAt } = item;
  return new SquadError('ALREADY_ANSWERED', `${id} ${howSettled(item)}`, {
    suggestions: ['Nothing was changed. `reply` to the run, once it has ended, to tell it something else.'],
    details: { id, state, answer, answered_by: answeredBy, answered_at: answeredAt },
  });
}

/** What became of it, as the rest of a sentence. */
export function howSettled({ state, answer, answeredBy, withdrawnBecause }: InboxItem): string {
  const words = answer === null ? 'nothing' : `"${oneLine(visibleText(answer), 200)}"`;
  if (state === 'withdrawn') return `was withdrawn: ${whyWithdrawn(withdrawnBecause)}`;
  if (state === 'declined') return `was declined by ${whoAnswered(answeredBy)}`;
  if (state === 'expired') return `was not answered in time; its default was ${words}`;
  return `was already answered with ${words} by ${whoAnswered(answeredBy)}`;
}

export const full = (runId: RunId, most: number): SquadError =>
  new SquadError(
    'INBOX_FULL',
    `Run ${runId} has ${most} questions open; no more are taken until some are answered`,
    {
      suggestions: ['Ask with the { id } of an open question to wait for its answer, or continue without.'],
    },
  );

/** `found` are several that begin so; `others` all there could be. */
export function unknownItem(
  given: string,
  found: readonly InboxItem[],
  others: readonly InboxItem[],
): SquadError {
  if (found.length > 1)
    return new SquadError(
      'INBOX_UNKNOWN',
      `${oneLine(visibleText(given), 60)} is the beginning of several ids: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}`,
      { suggestions: ['Give more letters.'] },
    );
  const near = nearest(
    given.slice(0, 40),
    others.map(({ id }) => id),
  );
  const open = others.filter(({ state }) => state === 'open').slice(0, 3);
  return new SquadError(
    'INBOX_UNKNOWN',
    `There is no question ${oneLine(visibleText(given), 60) || '(nothing)'}`,
    {
      suggestions: [
        near.length > 0
          ? `Did you mean ${near.join(' or ')}?`
          : open.length > 0
            ? `Open now: ${open.map(({ id, question }) => `${id} (${oneLine(visibleText(question), 60)})`).join(', ')}.`
            : '`squad inbox --all` shows what was asked.',
      ],
    },
  );
}
