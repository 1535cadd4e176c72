import { closedItem } from '../../../state/closed-items.ts';
import { inbox } from '../../../state/live.ts';
import type { Asking } from './use-stable-question.ts';

/** Its question is a line of a row: whoever has to know more, or fills in a form, opens it. */
export function fitsOnOneLine({ id, hasDetails, kind, question }: Asking): boolean {
  const item = inbox.value.find(one => one.id === id) ?? closedItem(id);
  if (hasDetails || kind === 'permission' || question.endsWith('…')) return false;
  return item?.fields.length === 0;
}
