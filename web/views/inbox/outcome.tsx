import type { InboxItem } from '../../../src/schema/inbox.ts';
import { Icon } from '../../ui/icon.tsx';
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
  const { word, icon, tone } = SETTLED_LOOKS[settled];
  return (
    <span class="outcome">
      <span class={`status tone-${tone}`}>
        <Icon name={icon} />
        {word}
      </span>
      {!isShort && item && settled !== 'unknown' && <span> {outcomeWords(item)}</span>}
    </span>
  );
}
