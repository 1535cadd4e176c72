import type { Need, RunCard } from '../../../../src/schema/run-card.ts';
import { NEEDS, statusStyle } from '../../../ui/status-style.ts';

/** By need, the newest first within; ids decide between equals, so that the order is always the same. */
export function boardOrder(cards: readonly RunCard[], needs: readonly Need[], most: number): string[] {
  return cards
    .filter(card => isWanted(card, needs))
    .sort((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
    .slice(0, most)
    .map(({ id }) => id);
}

/** Whoever asks for failures wants the old ones too, which nobody has to look at any more. */
function isWanted({ need, status }: RunCard, needs: readonly Need[]): boolean {
  if (needs.length === 0 || needs.includes(need)) return true;
  return needs.includes('failed') && need === 'done' && statusStyle(status).tone === 'bad';
}

const rank = ({ need }: RunCard): number => NEEDS.indexOf(need);

/** How many rows are new, gone or elsewhere, seen from what is shown. */
export function movesBetween(shown: readonly string[], wanted: readonly string[]): number {
  const before = new Set(shown);
  const after = new Set(wanted);
  const added = wanted.filter(id => !before.has(id)).length;
  const gone = shown.filter(id => !after.has(id)).length;
  const kept = wanted.filter(id => before.has(id));
  return added + gone + kept.length - longestInOrder(kept.map(id => shown.indexOf(id)));
}

/** Of the rows that stay, the most that keep their order among themselves: the others are those that move. */
function longestInOrder(places: readonly number[]): number {
  const ends: number[] = [];
  for (const place of places) {
    const at = ends.findIndex(end => end > place);
    ends[at === -1 ? ends.length : at] = place;
  }
  return ends.length;
}

export const needsOf = (text: string | null): Need[] => wordsOf(text).filter(isNeed);

/** Words in the place of needs that are none. */
export const unknownNeeds = (text: string | null): string[] => wordsOf(text).filter(word => !isNeed(word));

const wordsOf = (text: string | null): string[] =>
  (text ?? '')
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '');

const isNeed = (word: string): word is Need => (NEEDS as readonly string[]).includes(word);
