import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const shown = signal<string | null>(null);

/** What the view in front is about, where its address does not say it. */
export const viewTitle: ReadonlySignal<string | null> = shown;

export function useViewTitle(title: string): void {
  useEffect(() => {
    shown.value = title;
    return () => {
      shown.value = null;
    };
  }, [title]);
}
