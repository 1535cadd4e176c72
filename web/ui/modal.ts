import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Opens a dialog as the browser's own modal: the focus stays inside, and returns to its previous place afterwards. */
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
      // Removes the listener first, because this close event must not close the dialog that replaces this one.
      element?.removeEventListener('cancel', tell);
      element?.removeEventListener('close', tell);
      // Close before removal: removing an open dialog does not restore the focus.
      element?.close();
    };
  }, []);
  return dialog;
}
