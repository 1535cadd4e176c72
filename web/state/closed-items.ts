import { signal } from '@preact/signals';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { onChanges } from './live.ts';

/** More than anybody has in sight. */
const MAX_ITEMS = 500;

const items = signal<ReadonlyMap<string, InboxItem>>(new Map());

onChanges(({ inbox }) => {
  const settled = inbox.filter(({ state }) => state !== 'open');
  if (settled.length === 0) return;
  const known = new Map(items.peek());
  for (const item of settled) known.set(item.id, item);
  items.value = new Map([...known].slice(-MAX_ITEMS));
});

/** What became of an item while the page looked; undefined: it is open, or nobody told. */
export const settledItem = (id: string): InboxItem | undefined => items.value.get(id);
