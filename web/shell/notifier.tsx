import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { card, inbox, isInboxKnown, onChanges } from '../state/live.ts';
import { notify } from '../state/notifications.ts';
import { askNotice, failureNotice } from './notices.ts';

/** Tells whoever looks elsewhere that somebody needs them or that a run failed. */
export function Notifier() {
  const { route } = useLocation();
  const open = useRef(route);
  open.current = route;
  useEffect(() => {
    /** Those that were there when the page was opened have been seen. */
    let seen: Set<string> | null = null;
    const stopAsks = effect(() => {
      if (!isInboxKnown.value) return;
      const asks = inbox.value.filter(({ owner }) => owner === 'user');
      const before = seen;
      seen = new Set(asks.map(({ id }) => id));
      for (const item of before ? asks.filter(({ id }) => !before.has(id)) : [])
        notify(askNotice(item, card(item.runId).peek()), href => open.current(href));
    });
    const stopFailures = onChanges(({ events }) => {
      for (const event of events) {
        const notice = failureNotice(event, event.runId === null ? undefined : card(event.runId).peek());
        if (notice) notify(notice, href => open.current(href));
      }
    });
    return () => {
      stopAsks();
      stopFailures();
    };
  }, []);
  return null;
}
