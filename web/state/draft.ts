import { useState } from 'preact/hooks';

const KEY = 'squad-words:';

/** Text typed but not sent. It survives closing the dialog, changing the view and reloading the tab. */
export function savedDraft(what: string, storage: Pick<Storage, 'getItem'> = sessionStorage): string | null {
  return storage.getItem(KEY + what);
}

/** An empty text removes the draft. */
export function saveDraft(
  what: string,
  words: string,
  storage: Pick<Storage, 'setItem' | 'removeItem'> = sessionStorage,
): void {
  if (words === '') storage.removeItem(KEY + what);
  else storage.setItem(KEY + what, words);
}

/** The text, a setter, and a function that clears it after sending. */
export function useDraft(
  what: string,
  initial = '',
): [words: string, set: (words: string) => void, forget: () => void] {
  const [words, setWords] = useState(() => savedDraft(what) ?? initial);
  const set = (next: string) => {
    setWords(next);
    saveDraft(what, next);
  };
  const forget = () => {
    setWords(initial);
    saveDraft(what, '');
  };
  return [words, set, forget];
}
