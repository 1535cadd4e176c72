import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { lastRun } from '../../../state/last-list.ts';

/** Who comes back from a run, and has the focus nowhere, is at its row again. */
export function useReturn(list: RefObject<HTMLElement | null>, isFilled: boolean): void {
  useEffect(() => {
    const id = lastRun.peek();
    if (!isFilled || id === null) return;
    lastRun.value = null;
    if (document.activeElement !== document.body) return;
    list.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(id)}"] .run-title`)?.focus();
  }, [isFilled]);
}
