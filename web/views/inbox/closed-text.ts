import { visibleText } from '../../../src/base/text.ts';
import type { InboxItem, InboxState } from '../../../src/schema/inbox.ts';
import type { StatusStyle } from '../../ui/status-style.ts';

/** State of a closed item. `unknown` means that it is not known how the item was closed. */
export type ClosedState = Exclude<InboxState, 'open'> | 'unknown';

/** Styles of closed items. Only an answered item gets the check mark. */
export const CLOSED_STYLES: Record<ClosedState, StatusStyle> = {
  answered: { word: 'answered', icon: 'check', tone: 'good' },
  declined: { word: 'declined', icon: 'cross', tone: 'off' },
  expired: { word: 'expired', icon: 'clock', tone: 'ask' },
  withdrawn: { word: 'withdrawn', icon: 'stop', tone: 'off' },
  unknown: { word: 'closed', icon: 'stop', tone: 'off' },
};

export const closedState = (item: Pick<InboxItem, 'state'> | undefined): ClosedState =>
  item === undefined || item.state === 'open' ? 'unknown' : item.state;

/** The answer and who gave it. */
export function describeOutcome({ state, answer, answeredBy }: Outcome): string {
  if (state === 'withdrawn') return 'the agent no longer waits for an answer';
  if (state === 'declined') return byWhom(answeredBy);
  if (state === 'expired')
    return answer === null ? 'nobody answered' : `nobody answered, default “${visibleText(answer)}” used`;
  return [answer === null ? 'no answer' : visibleText(answer), byWhom(answeredBy)].join(' · ');
}

type Outcome = Pick<InboxItem, 'state' | 'answer' | 'answeredBy'>;

function byWhom(by: InboxItem['answeredBy']): string {
  if (by?.who === 'run') return `by ${by.via}`;
  if (by?.who === 'default') return 'the default';
  return by?.via ? `you, ${by.via === 'page' ? 'in the web UI' : `via ${visibleText(by.via)}`}` : 'you';
}
