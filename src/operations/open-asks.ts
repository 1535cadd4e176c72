import type { RunId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Services } from './operation.ts';

/** What a run waits for an answer to, the oldest first. */
export const openAsks = ({ inbox }: Pick<Services, 'inbox'>, runId: RunId): InboxItem[] =>
  inbox.openOf(runId);

/** The user is asked, not the run that started it. */
export const asksUser = (asks: readonly InboxItem[]): boolean => asks.some(({ owner }) => owner === 'user');
