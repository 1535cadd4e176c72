import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useKeys } from '../keys.ts';
import { waiting } from '../state/waiting.ts';
import { Icon } from '../ui/icon.tsx';
import { VIEWS } from './views.ts';

export function Navigation() {
  const { path, url, route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [url]);
  useKeys(
    VIEWS.map(({ name, href, key }) => ({
      key,
      what: `Go to ${name.toLowerCase()}`,
      run: () => route(href),
    })),
  );
  const many = waiting.value.size;
  const here = VIEWS.find(({ href }) => href === path);
  return (
    <nav class={`views ${isOpen ? 'is-open' : ''}`} aria-label="Views">
      <button type="button" class="button quiet fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="menu" />
        {here?.name ?? 'Views'}
        {many > 0 && <span class="badge">{many} waiting</span>}
      </button>
      <ul>
        {VIEWS.map(({ name, href }) => (
          <li key={href}>
            <a href={href} aria-current={href === path ? 'page' : undefined}>
              {name}
              {href === '/inbox' && many > 0 && <span class="badge">{many}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
