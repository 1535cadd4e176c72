import type { InboxItem } from '../../src/schema/inbox.ts';

/** Open items of both lists, earliest deadline first. If an item is in both, the changed version counts. */
export function openItems(known: readonly InboxItem[], changed: readonly InboxItem[]): InboxItem[] {
  const byId = new Map(known.map(item => [item.id, item]));
  for (const item of changed) byId.set(item.id, item);
  return [...byId.values()]
    .filter(item => item.state === 'open')
    .sort((a, b) => a.deadlineAt - b.deadlineAt || (a.id < b.id ? -1 : 1));
}
