import type { InboxItem } from '../../../src/schema/inbox.ts';
import { StatusMark } from '../../ui/status.tsx';
import { CLOSED_STYLES, closedState, describeOutcome } from './closed-text.ts';

/** How a question was closed. */
export function Outcome({
  item,
  isShort = false,
}: {
  item: Pick<InboxItem, 'state' | 'answer' | 'answeredBy'> | undefined;
  isShort?: boolean;
}) {
  const settled = closedState(item);
  return (
    <span class="outcome">
      <StatusMark style={CLOSED_STYLES[settled]} />
      {!isShort && item && settled !== 'unknown' && <span> {describeOutcome(item)}</span>}
    </span>
  );
}
