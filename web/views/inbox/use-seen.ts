import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Seen {
  /** The element whose edges (`[data-edge]`) have to be visible once. */
  ref: RefObject<HTMLDivElement | null>;
  /** True if the details were visible. Null if that was not measured yet. */
  isSeen: boolean | null;
  /** Scrolls to the part of the details that was not visible yet. */
  show(): void;
}

/** Tracks whether start and end of an element have both been visible. */
export function useSeen(): Seen {
  const ref = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState<boolean | null>(null);
  useEffect(() => {
    const unseen = new Set<Element>(ref.current?.querySelectorAll('[data-edge]'));
    const observer = new IntersectionObserver(entries => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) unseen.delete(target);
      if (unseen.size === 0) observer.disconnect();
      setSeen(unseen.size === 0);
    });
    for (const edge of unseen) observer.observe(edge);
    return () => observer.disconnect();
  }, []);
  const show = () => {
    const details = ref.current?.querySelector<HTMLElement>('.ask-details');
    // Focuses the details, so that scroll keys work on them.
    details?.focus({ preventScroll: true });
    (details ?? ref.current)?.scrollIntoView({ block: 'nearest' });
  };
  return { ref, isSeen, show };
}
