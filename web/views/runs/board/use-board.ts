import { batch, computed, signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';
import type { Output } from '../../../../src/operations/operations.ts';
import type { Need, RunCard } from '../../../../src/schema/run-card.ts';
import { changesBoard, PAGE } from '../../../shell/summary.ts';
import { call } from '../../../state/api.ts';
import { addCards, card, onChanges } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { boardOrder } from './board-order.ts';

export interface BoardFilter {
  workspace: string | null;
  needs: Need[];
  q: string | null;
  squad: string | null;
}

type Answer = Output<'list_board'>;

/** Size of the pages after the first. */
const NEXT_PAGE = 200;

/** Runs of a filter in their current order. Loads more on request. */
export function useBoard({ workspace, needs, q, squad }: BoardFilter) {
  const input = {
    workspace: workspace ?? undefined,
    ...(needs.length > 0 && { status: needs }),
    ...(q && { q }),
    ...(squad && { squad }),
    limit: PAGE,
  };
  const key = JSON.stringify(input);
  const { data, isOf, error, isLoading, reload } = useQuery('list_board', input, { refreshOn: changesBoard });
  const pages = useMemo(() => new Pages(needs), [key]);
  useLayoutEffect(() => {
    if (data && isOf) pages.first(data);
  }, [data, isOf, pages]);
  useEffect(
    () => onChanges(({ events }) => events.some(({ body }) => body.type === 'runs.pruned') && pages.forget()),
    [pages],
  );
  const next = pages.next.value;
  return {
    order: pages.order.value,
    isAnswered: pages.isAnswered.value,
    hasMore: next !== null,
    more: async () => {
      // Reads the cursor now, because the rendered one may be a page behind.
      const cursor = pages.next.peek();
      if (cursor !== null) pages.more(await call('list_board', { ...input, limit: NEXT_PAGE, cursor }));
    },
    error,
    isLoading,
    reload,
  };
}

/**
 * Loaded pages of one filter. Keeps every run that was on them, so that a run that moves to another page is not lost.
 */
class Pages {
  readonly isAnswered = signal(false);
  readonly next = signal<string | null>(null);
  readonly #known = signal<ReadonlySet<string>>(new Set());
  readonly #most = signal(PAGE);
  readonly #needs: Need[];

  constructor(needs: Need[]) {
    this.#needs = needs;
  }

  /** Order of the runs, as one text of ids, so that an unchanged order compares as equal and nothing is rendered. */
  readonly order = computed(() => {
    const cards = [...this.#known.value].map(id => card(id).value);
    const known = cards.filter((one): one is RunCard => one !== undefined);
    return boardOrder(known, this.#needs, this.#most.value).join(' ');
  });

  first({ runs, next }: Answer): void {
    batch(() => {
      this.#add(runs);
      this.isAnswered.value = true;
      if (this.#most.peek() === PAGE) this.next.value = next;
    });
  }

  more({ runs, next }: Answer): void {
    batch(() => {
      this.#add(runs);
      this.#most.value += NEXT_PAGE;
      this.next.value = next;
    });
  }

  forget(): void {
    this.#known.value = new Set();
  }

  #add(runs: RunCard[]): void {
    addCards(runs);
    if (runs.some(({ id }) => !this.#known.peek().has(id)))
      this.#known.value = new Set([...this.#known.peek(), ...runs.map(({ id }) => id)]);
  }
}
