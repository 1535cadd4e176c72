import type { InboxItem } from '../../schema/inbox.ts';

/** The user is asked, not the run that started it. */
export const asksUser = (asks: readonly InboxItem[]): boolean => asks.some(({ owner }) => owner === 'user');
