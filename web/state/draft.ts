import { useState } from 'preact/hooks';

const KEY = 'squad-words:';

/** Text typed but not sent. It survives closing the dialog, changing the view and reloading the tab. */
export function savedDraft(what: string, storage: Pick<Storage, 'getItem'> = sessionStorage): string | null {
  return storage.getItem(KEY + what);
}

/** Saves a draft. An empty text removes it. */
export function saveDraft(
  what: string,
  text: string,
  storage: Pick<Storage, 'setItem' | 'removeItem'> = sessionStorage,
): void {
  if (text === '') storage.removeItem(KEY + what);
  else storage.setItem(KEY + what, text);
}

/** The text, a setter, and a function that clears it after sending. */
export function useDraft(
  what: string,
  initial = '',
): [text: string, set: (text: string) => void, forget: () => void] {
  const [text, setText] = useState(() => savedDraft(what) ?? initial);
  const set = (next: string) => {
    setText(next);
    saveDraft(what, next);
  };
  const forget = () => {
    setText(initial);
    saveDraft(what, '');
  };
  return [text, set, forget];
}
