import type { Need, RunCard } from '../../../../src/schema/run-card.ts';
import { NEEDS, statusStyle } from '../../../ui/status-style.ts';

/** Sorts by need, then newest first, then by id, so that the order is always the same. */
export function boardOrder(cards: readonly RunCard[], needs: readonly Need[], most: number): string[] {
  return cards
    .filter(card => isWanted(card, needs))
    .sort((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
    .slice(0, most)
    .map(({ id }) => id);
}

/** The filter `failed` also selects old failures, which count as `done`. */
function isWanted({ need, status }: RunCard, needs: readonly Need[]): boolean {
  if (needs.length === 0 || needs.includes(need)) return true;
  return needs.includes('failed') && need === 'done' && statusStyle(status).tone === 'bad';
}

const rank = ({ need }: RunCard): number => NEEDS.indexOf(need);

/** Counts the rows that were added, removed or moved since they were shown. */
export function movesBetween(shown: readonly string[], wanted: readonly string[]): number {
  const before = new Set(shown);
  const after = new Set(wanted);
  const added = wanted.filter(id => !before.has(id)).length;
  const gone = shown.filter(id => !after.has(id)).length;
  const places = new Map(shown.map((id, place) => [id, place]));
  const kept = wanted.flatMap(id => places.get(id) ?? []);
  return added + gone + kept.length - longestInOrder(kept);
}

/** Length of the longest increasing subsequence: rows that keep their order. All other rows have to move. */
function longestInOrder(places: readonly number[]): number {
  const ends: number[] = [];
  for (const place of places) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! > place) high = middle;
      else low = middle + 1;
    }
    ends[low] = place;
  }
  return ends.length;
}

export const needsOf = (text: string | null): Need[] => splitList(text).filter(isNeed);

/** Words of the filter that are no attention level. */
export const unknownNeeds = (text: string | null): string[] => splitList(text).filter(word => !isNeed(word));

const splitList = (text: string | null): string[] =>
  (text ?? '')
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '');

const isNeed = (word: string): word is Need => (NEEDS as readonly string[]).includes(word);
