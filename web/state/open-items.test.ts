import { expect, test } from 'vitest';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { openItems } from './open-items.ts';

const item = (id: string, deadlineAt: number, state: InboxItem['state'] = 'open') =>
  ({ id, deadlineAt, state }) as InboxItem;

test('the item with the nearest deadline comes first, and a closed one goes', () => {
  const known = [item('a', 3), item('b', 2)];
  const changed = [item('c', 1), item('b', 2, 'answered')];
  expect(openItems(known, changed).map(({ id }) => id)).toEqual(['c', 'a']);
});
