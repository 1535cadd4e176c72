import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { viewTitle } from '../state/view-title.ts';
import { waiting } from '../state/waiting.ts';
import { harmless } from '../ui/harmless.ts';
import { VIEWS } from './views.ts';

/** Tells tabs and bookmarks apart, and how many wait. */
export function TabTitle() {
  const { path } = useLocation();
  const many = waiting.value.size;
  const view = viewTitle.value ?? VIEWS.find(({ href }) => href === path)?.name;
  useEffect(() => {
    const name = view === undefined ? 'Squad' : `${harmless(view)} · Squad`;
    document.title = many > 0 ? `(${many}) ${name}` : name;
  }, [many, view]);
  return null;
}
