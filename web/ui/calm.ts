import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

const CALM_MS = 500;
const moves = signal(0);

/** Call when the rows of a list have moved. */
export function noteMove(): void {
  moves.value++;
}

/**
 * Why an answer is not taken yet: what is under the pointer or behind a key has just changed, and whoever presses now means what
 * was there before. Null: it is taken.
 */
export function useJustAppeared(id: string): string | null {
  const place = `${id} ${moves.value}`;
  const [calm, setCalm] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(place), CALM_MS);
    return () => clearTimeout(timer);
  }, [place]);
  return calm === place ? null : 'This has just appeared';
}
