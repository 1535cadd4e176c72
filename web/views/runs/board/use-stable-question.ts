import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';

export type Asking = NonNullable<RunCard['asking']>;

/**
 * The question a row shows. While somebody points at the row or is in it, one that was settled stays: the next must not be under
 * a click or in a box that was meant for it.
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
  // The focus is nowhere for a moment while it moves inside.
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
