import type { ComponentChildren } from 'preact';

export interface Tab {
  href: string;
  name: string;
  /** A number worth seeing before the tab is opened. */
  count?: ComponentChildren;
}

/** Views of one thing, each with an address of its own: links, so every browser key for links works. */
export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, name, count }) => (
        <a key={href} href={href} aria-current={href === current ? 'page' : undefined}>
          {name}
          {count !== undefined && <span class="tab-count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
