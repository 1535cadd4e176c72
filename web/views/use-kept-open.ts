import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../state/api.ts';

/** Keeps a dialog open until what it asks for is done: nothing typed is lost when it is refused. */
export function useKeptOpen(onClose: () => void) {
  const [error, setError] = useState<ApiError | null>(null);
  const isSubmitting = useRef(false);
  return {
    error,
    send(work: () => Promise<void>): void {
      // The dialog closes itself in the same go; a later wish to close is the user's.
      isSubmitting.current = true;
      queueMicrotask(() => {
        isSubmitting.current = false;
      });
      setError(null);
      work().then(onClose, thrown =>
        setError(thrown instanceof ApiError ? thrown : new ApiError('PAGE_ERROR', String(thrown))),
      );
    },
    close(): void {
      if (!isSubmitting.current) onClose();
    },
  };
}
