import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { noteMove } from './calm.ts';

/** Delay before sorting, after the pointer or the focus has left the list. */
const REST_MS = 1_000;
/** Time after which a resting pointer is not about to click, so the list may be sorted again. */
const IDLE_MS = 10_000;

/**
 * Keeps the order of the rows while the pointer or the focus is in the list, so that no row moves away before a click.
 * Otherwise the list has the wanted order.
 */
export function useHeldOrder<L extends HTMLElement>(wanted: string, filter: string) {
  const [shown, setShown] = useState({ wanted, filter });
  const list = useRef<L>(null);
  const latest = useRef({ wanted, filter });
  latest.current = { wanted, filter };
  const isPointed = useRef(false);
  const lastSign = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const focused = useRef<Element | null>(null);

  const apply = () => {
    const active = document.activeElement;
    focused.current = list.current?.contains(active) ? active : null;
    setShown(latest.current);
  };
  const isLonger = wanted.startsWith(`${shown.wanted} `);
  const isHeld = () => isPointed.current || list.current?.contains(document.activeElement) === true;
  const settle = () => {
    clearTimeout(timer.current);
    const left = lastSign.current + IDLE_MS - performance.now();
    if (!isHeld() || left <= 0 || isLonger) apply();
    else timer.current = setTimeout(settle, left);
  };
  const settleSoon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(settle, REST_MS);
  };
  const sign = () => {
    lastSign.current = performance.now();
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(settle, [wanted, filter]);
  // Restores the focus, because moving an element in the DOM removes it. A row that moved to another list is a new element.
  useLayoutEffect(() => {
    const run = focused.current?.closest<HTMLElement>('[data-run]')?.dataset.run ?? '';
    const next = focused.current?.isConnected
      ? focused.current
      : list.current?.querySelector(`[data-run="${CSS.escape(run)}"] .run-title`);
    if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    focused.current = null;
  }, [shown]);

  // The rows are sorted at once for a different list, for new rows at the end, and for the first response. In these
  // cases no row moves under the pointer.
  const isOther = shown.filter !== filter || shown.wanted === '' || isLonger;
  const order = isOther ? wanted : shown.wanted;
  const drawn = useRef(order);
  useLayoutEffect(() => {
    if (drawn.current !== order) noteMove();
    drawn.current = order;
  }, [order]);
  return {
    ids: idsOf(order),
    wantedIds: idsOf(wanted),
    apply,
    list,
    hold: {
      onPointerEnter: () => {
        isPointed.current = true;
        sign();
      },
      onPointerMove: sign,
      onKeyDown: sign,
      onFocusIn: sign,
      onPointerLeave: () => {
        isPointed.current = false;
        settleSoon();
      },
      onFocusOut: settleSoon,
    },
  };
}

const idsOf = (order: string): string[] => order.split(' ').filter(Boolean);
