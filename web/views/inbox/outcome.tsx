import type { InboxItem } from '../../../src/schema/inbox.ts';
import { StatusMark } from '../../ui/status.tsx';
import { outcomeWords, SETTLED_LOOKS, settledOf } from './closed-text.ts';

/** What became of a question: word, shape and colour. */
export function Outcome({
  item,
  isShort = false,
}: {
  item: Pick<InboxItem, 'state' | 'answer' | 'answeredBy'> | undefined;
  isShort?: boolean;
}) {
  const settled = settledOf(item);
  return (
    <span class="outcome">
      <StatusMark style={SETTLED_LOOKS[settled]} />
      {!isShort && item && settled !== 'unknown' && <span> {outcomeWords(item)}</span>}
    </span>
  );
}
