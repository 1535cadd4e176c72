import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';

export type Asking = NonNullable<RunCard['asking']>;

/**
 * The question that a row shows. While the pointer or the focus is in the row, a closed question stays: otherwise a
 * click or text that was meant for it would reach the next one.
 */
export function useStableQuestion(asking: Asking | null) {
  const row = useRef<HTMLLIElement>(null);
  const [kept, keep] = useState(asking);
  const latest = useRef(asking);
  latest.current = asking;
  const isHeld = () => row.current?.matches(':hover, :focus-within') === true;
  const isOther = kept !== null && kept.id !== asking?.id && isHeld();
  const shown = isOther ? kept : asking;
  useLayoutEffect(() => keep(shown));
  const release = () => keep(latest.current);
  // Checks a moment later, because no element has the focus while it moves inside the row.
  const leave = () => void setTimeout(() => !isHeld() && release());
  return {
    row,
    shown,
    isSettled: isOther,
    hasNext: isOther && asking !== null,
    showNext: release,
    hold: { onPointerLeave: leave, onFocusOut: leave },
  };
}
