import type { Event } from '../../../../src/schema/event.ts';

/** Usage of a run at one moment. */
export interface Reading {
  at: number;
  tokens: number | null;
  costUsd: number | null;
}

/** Returns the readings in these events, oldest first. Events may occur twice. */
export function readingsIn(events: readonly Event[]): Reading[] {
  const unique = new Map(events.map(event => [event.seq, event]));
  return [...unique.values()]
    .sort((one, other) => one.seq - other.seq)
    .flatMap(({ at, body }) => (body.type === 'run.activity' && body.spent ? [{ at, ...body.spent }] : []));
}

interface Span {
  measure: 'tokens' | 'costUsd';
  from: number;
  until: number;
  /** Total now. It may be newer than the last reading. */
  total: number;
}

/** Steps of a curve that never falls. Each amount holds from its time until the next reading. */
export function stepsOf(
  readings: readonly Reading[],
  { measure, from, until, total }: Span,
): { at: number; amount: number }[] {
  const steps = [{ at: from, amount: 0 }];
  for (const reading of readings) {
    const amount = reading[measure];
    const last = steps.at(-1)!.amount;
    if (amount === null || amount <= last || amount > total) continue;
    steps.push({ at: Math.min(Math.max(reading.at, from), until), amount });
  }
  if (steps.length > 1 && total > steps.at(-1)!.amount) steps.push({ at: until, amount: total });
  return steps;
}
