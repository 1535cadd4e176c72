import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Opens a dialog as the browser's own modal: the focus stays inside, and goes back to where it was. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // While it is still there: an element that is only taken away gives the focus to nobody.
    return () => element?.close();
  }, []);
  return dialog;
}
