import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const shown = signal<string | null>(null);

/** Title of the current view, if the view sets one. */
export const viewTitle: ReadonlySignal<string | null> = shown;

export function useViewTitle(title: string): void {
  useEffect(() => {
    shown.value = title;
    return () => {
      shown.value = null;
    };
  }, [title]);
}
