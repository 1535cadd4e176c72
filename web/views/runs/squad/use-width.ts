import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const AT_FIRST = 600;

/** How wide an element is, kept up to date. */
export function useWidth(): { box: RefObject<HTMLDivElement | null>; width: number } {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(AT_FIRST);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(Math.floor(element.clientWidth), 1));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return { box, width };
}
