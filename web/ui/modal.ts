import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Opens a dialog as the browser's own modal: the focus stays inside, and goes back to where it was. */
export function useModal(onClose: () => void): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  const told = useRef(onClose);
  told.current = onClose;
  useLayoutEffect(() => {
    const element = dialog.current;
    const tell = () => told.current();
    element?.addEventListener('cancel', tell);
    element?.addEventListener('close', tell);
    element?.showModal();
    return () => {
      // What takes its place must not be closed by its end.
      element?.removeEventListener('cancel', tell);
      element?.removeEventListener('close', tell);
      // While it is still there: an element that is only taken away gives the focus to nobody.
      element?.close();
    };
  }, []);
  return dialog;
}
