import { signal } from '@preact/signals';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { onChanges } from './live.ts';

/** Maximum number of items; more than fit on a screen. */
const MAX_ITEMS = 500;

const items = signal<ReadonlyMap<string, InboxItem>>(new Map());

onChanges(({ inbox }) => {
  const settled = inbox.filter(({ state }) => state !== 'open');
  if (settled.length === 0) return;
  const known = new Map(items.peek());
  for (const item of settled) known.set(item.id, item);
  items.value = new Map([...known].slice(-MAX_ITEMS));
});

/** The item, if it was closed while the tab was open. Undefined if it is still open or unknown. */
export const closedItem = (id: string): InboxItem | undefined => items.value.get(id);
