import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Seen {
  /** The element whose edges, each a `[data-edge]`, have to be seen. */
  ref: RefObject<HTMLDivElement | null>;
  /** Null: not known yet. */
  isSeen: boolean | null;
  /** To where there is more of it. */
  show(): void;
}

/** Whether its beginning and its end have both been in sight, at whatever time. */
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
    // From there the keys that scroll go through it.
    details?.focus({ preventScroll: true });
    (details ?? ref.current)?.scrollIntoView({ block: 'nearest' });
  };
  return { ref, isSeen, show };
}
