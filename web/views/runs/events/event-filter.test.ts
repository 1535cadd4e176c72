import { describe, expect, it } from 'vitest';
import type { Event } from '../../../../src/schema/event.ts';
import { filterOf, matches, together } from './event-filter.ts';

describe('the filter', () => {
  it('comes from the address', () => {
    expect(filterOf({ w: '/work', type: 'run.ended,nonsense,run.started', run: 'run_a' })).toEqual({
      ...{ types: ['run.ended', 'run.started'], run: 'run_a', squad: null },
    });
    expect(filterOf({})).toEqual({ types: [], run: null, squad: null });
  });

  it('lets through what has all that is asked for', () => {
    const event = eventOf(1, { type: 'run.stopping', reason: 'cancel' });
    expect(matches(event, { types: [], run: null, squad: null })).toBe(true);
    expect(matches(event, { types: ['run.stopping'], run: 'run_a', squad: null })).toBe(true);
    expect(matches(event, { types: ['run.ended'], run: 'run_a', squad: null })).toBe(false);
    expect(matches(event, { types: [], run: 'run_b', squad: null })).toBe(false);
    expect(matches(event, { types: [], run: null, squad: 'squad_b' })).toBe(false);
  });
});

describe('together', () => {
  it('has each event once, newest first, and no more than asked for', () => {
    const [one, two, three] = [1, 2, 3].map(seq => eventOf(seq, { type: 'run.stopping', reason: 'cancel' }));
    const seqs = (events: Event[]) => events.map(({ seq }) => seq);
    expect(seqs(together([three!, two!], [two!, one!], 10))).toEqual([3, 2, 1]);
    expect(seqs(together([three!, two!], [two!, one!], 2))).toEqual([3, 2]);
  });
});

const eventOf = (seq: number, body: Event['body']): Event =>
  ({ seq, at: 1, runId: 'run_a', squadId: 'squad_a', body }) as unknown as Event;
