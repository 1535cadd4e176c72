import { useState } from 'preact/hooks';

const KEY = 'squad-words:';

/** What was typed for something and not sent: it outlives a closed dialog, another view and a reload of the tab. */
export function savedDraft(what: string, storage: Pick<Storage, 'getItem'> = sessionStorage): string | null {
  return storage.getItem(KEY + what);
}

/** None take it away. */
export function keepWords(
  what: string,
  words: string,
  storage: Pick<Storage, 'setItem' | 'removeItem'> = sessionStorage,
): void {
  if (words === '') storage.removeItem(KEY + what);
  else storage.setItem(KEY + what, words);
}

/** The words, how to change them, and how to forget them once they are sent. */
export function useDraft(
  what: string,
  initial = '',
): [words: string, set: (words: string) => void, forget: () => void] {
  const [words, setWords] = useState(() => savedDraft(what) ?? initial);
  const set = (next: string) => {
    setWords(next);
    keepWords(what, next);
  };
  const forget = () => {
    setWords(initial);
    keepWords(what, '');
  };
  return [words, set, forget];
}
