import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Seen {
  /** Element whose start and end (`[data-edge]`) must both have been visible. */
  ref: RefObject<HTMLDivElement | null>;
  /** True if all of the element has been visible. Null until that was measured. */
  isSeen: boolean | null;
  /** Scrolls to the part of the details that was not visible yet. */
  show(): void;
}

/** Tracks whether the start and the end of an element have been visible. */
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
