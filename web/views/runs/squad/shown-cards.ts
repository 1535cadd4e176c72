import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { card } from '../../../state/live.ts';

/** The current cards of these runs. Changes of a running agent's last output cause no redraw, because it is not shown here. */
export function useShownCards(runs: readonly RunCard[]): readonly RunCard[] {
  const shown = useMemo(() => {
    let last: readonly RunCard[] = [];
    return computed(() => {
      const next = runs.map(run => card(run.id).value ?? run);
      if (!areSame(last, next)) last = next;
      return last;
    });
  }, [runs]);
  return shown.value;
}

const areSame = (some: readonly RunCard[], others: readonly RunCard[]) =>
  some.length === others.length && some.every((one, index) => looksSame(one, others[index]!));

export function looksSame(one: RunCard, other: RunCard): boolean {
  if (one === other) return true;
  const [seen, seenOther] = [seenOf(one), seenOf(other)];
  return seen.every((value, index) => value === seenOther[index]);
}

const seenOf = (run: RunCard) => [
  ...[run.id, run.title, run.roleId, run.status, run.need, run.isStopping, run.turn, run.branch],
  ...[run.startedAt, run.endedAt, run.quiet?.state, run.quiet?.text],
  ...[run.usage?.input, run.usage?.output, run.usage?.costUsd, run.usage?.costIsEstimated],
];
