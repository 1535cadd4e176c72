import { type Signal, signal } from '@preact/signals';
import type { RunCard } from '../../src/schema/run-card.ts';

/** Number of cards from which cards of runs that no view shows are dropped. */
const MAX_KEPT = 2_000;
const FORGET_MS = 1_000;

/** Holds one signal per run, so that a change redraws only one row. */
export class Cards {
  #signals = new Map<string, Signal<RunCard | undefined>>();
  /** Runs whose card came over the WebSocket; the response to an earlier request is older than that card. */
  #told = new Set<string>();
  #watched = new Set<string>();
  #isForgetting = false;

  of(id: string): Signal<RunCard | undefined> {
    const known = this.#signals.get(id);
    if (known) return known;
    const made = signal<RunCard | undefined>(undefined, {
      watched: () => void this.#watched.add(id),
      unwatched: () => void this.#watched.delete(id),
    });
    this.#signals.set(id, made);
    this.#forgetLater();
    return made;
  }

  tell(cards: readonly RunCard[]): void {
    for (const card of cards) {
      this.#told.add(card.id);
      this.#write(card);
    }
  }

  see(cards: readonly RunCard[]): void {
    for (const card of cards) if (!this.#told.has(card.id)) this.#write(card);
  }

  /** Called when the connection breaks. Responses to later requests are newer than the cards that came over it. */
  distrust(): void {
    this.#told.clear();
  }

  #write(card: RunCard): void {
    const one = this.of(card.id);
    if (JSON.stringify(one.peek()) !== JSON.stringify(card)) one.value = card;
  }

  /** Drops cards after a delay, because a view starts to watch a card only after the card was written. */
  #forgetLater(): void {
    if (this.#signals.size <= MAX_KEPT || this.#isForgetting) return;
    this.#isForgetting = true;
    setTimeout(() => {
      this.#isForgetting = false;
      for (const id of this.#signals.keys()) {
        if (this.#signals.size <= MAX_KEPT) return;
        if (this.#watched.has(id)) continue;
        this.#signals.delete(id);
        this.#told.delete(id);
      }
    }, FORGET_MS);
  }
}
