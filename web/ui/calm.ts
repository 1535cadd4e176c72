import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

const CALM_MS = 500;
const moves = signal(0);

/** Call this when rows of a list have moved. */
export function noteMove(): void {
  moves.value++;
}

/**
 * Why an answer is not accepted at this moment: the item has only just come under the pointer, so a press was
 * probably meant for the previous one. Null if it is accepted.
 */
export function useJustAppeared(id: string): string | null {
  const place = `${id} ${moves.value}`;
  const [calm, setCalm] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(place), CALM_MS);
    return () => clearTimeout(timer);
  }, [place]);
  return calm === place ? null : 'This question appeared just now. Try again in a moment.';
}
