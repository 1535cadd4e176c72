import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Tab {
  href: string;
  name: string;
  /** Number that is shown on the tab before it is opened. */
  count?: ComponentChildren;
}

/** Tabs are links, so every browser shortcut for links works. */
export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }) {
  const bar = useRef<HTMLElement>(null);
  // Scrolls only horizontally, because the page itself must not move.
  useLayoutEffect(() => {
    const chosen = bar.current?.querySelector<HTMLElement>('[aria-current]');
    if (!bar.current || !chosen) return;
    const { left, width } = bar.current.getBoundingClientRect();
    const place = chosen.getBoundingClientRect();
    bar.current.scrollLeft += place.left - left - (width - place.width) / 2;
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(({ href, name, count }) => (
        <a key={href} href={href} aria-current={href === current ? 'page' : undefined}>
          {name}
          {count !== undefined && <span class="tab-count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
