import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { inbox } from '../state/live.ts';
import { viewTitle } from '../state/view-title.ts';
import { harmless } from '../ui/harmless.ts';
import { VIEWS } from './views.ts';

/** Tells tabs and bookmarks apart, and how many wait. */
export function TabTitle() {
  const { path } = useLocation();
  const waiting = inbox.value.filter(({ owner }) => owner === 'user').length;
  const view = viewTitle.value ?? VIEWS.find(({ href }) => href === path)?.name;
  useEffect(() => {
    const name = view === undefined ? 'Squad' : `${harmless(view)} · Squad`;
    document.title = waiting > 0 ? `(${waiting}) ${name}` : name;
  }, [waiting, view]);
  return null;
}
