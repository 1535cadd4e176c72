import type { ListKind } from './catalogue.ts';

/** Something a server lists that nobody is shown, and why, in a clause. */
export interface RefusedDefinition {
  name: string;
  reason: string;
}

/** A server may list any number of them, and nobody reads more. */
const MOST = 20;

/** What one server lists and nobody is shown, as it was last listed. Each is told of once. */
export class Refused {
  readonly #onNew: (refused: RefusedDefinition) => void;
  readonly #byKind = new Map<ListKind, readonly RefusedDefinition[]>();

  constructor(onNew: (refused: RefusedDefinition) => void) {
    this.#onNew = onNew;
  }

  take(kind: ListKind, refused: readonly RefusedDefinition[]): void {
    const before = this.list(kind);
    const kept = refused.slice(0, MOST);
    this.#byKind.set(kind, kept);
    for (const one of kept)
      if (!before.some(({ name, reason }) => name === one.name && reason === one.reason)) this.#onNew(one);
  }

  list(kind?: ListKind): RefusedDefinition[] {
    const all = kind === undefined ? [...this.#byKind.values()].flat() : (this.#byKind.get(kind) ?? []);
    return all.slice(0, MOST);
  }
}
