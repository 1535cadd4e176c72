import { closedItem } from '../../../state/closed-items.ts';
import { inbox } from '../../../state/live.ts';
import type { Asking } from './use-stable-question.ts';

/** Whether a question can be answered in its row: it has no details, is not cut and needs no form. */
export function fitsOnOneLine({ id, hasDetails, kind, question }: Asking): boolean {
  const item = inbox.value.find(one => one.id === id) ?? closedItem(id);
  if (hasDetails || kind === 'permission' || question.endsWith('…')) return false;
  return item?.fields.length === 0;
}
