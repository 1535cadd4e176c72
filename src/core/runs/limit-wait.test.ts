import { describe, expect, test } from 'vitest';
import type { LimitReset } from '../ports/engine.ts';
import { isTooLate, limitWait, MAX_WAITS, resetTime } from './limit-wait.ts';

const HOUR = 3_600_000;
const END = Date.parse('2026-03-10T14:00:30Z');
const at = (iso: string) => Date.parse(iso);
const waiting = (reset: LimitReset | null, parkMs = 6 * HOUR, waits = 0) =>
  limitWait({
    ...{ reset, endedAt: END, parkMs },
    state: waits === 0 ? null : { waits, since: END, until: null, takeovers: [] },
  });

describe('a limited run', { tags: ['G5'] }, () => {
  test('waits until a second after the reset', () => {
    expect(waiting({ at: END + HOUR })).toEqual({ until: END + HOUR + 1_000 });
    expect(waiting({ afterMs: 1_500 })).toEqual({ until: END + 2_500 });
  });

  test('waits a short time, longer each time, if the reset is in the past', () => {
    for (const past of [{ at: 0 }, { at: END }, { at: -1e12 }, { afterMs: 0 }])
      expect(waiting(past)).toEqual({ until: END + 2_000 });
    expect(waiting({ at: 0 }, 6 * HOUR, 3)).toEqual({ until: END + 16_000 });
  });

  test('waits a minute, longer each time, if the engine does not say when the limit is reset', () => {
    expect(waiting(null)).toEqual({ until: END + 60_000 });
    expect(waiting(null, 6 * HOUR, 2)).toEqual({ until: END + 240_000 });
    expect(waiting(null, 6 * HOUR, 9)).toEqual({ until: END + 1_800_000 });
    expect(waiting({ at: 9e15 })).toEqual({ until: END + 60_000 });
    expect(waiting({ at: Number.NaN })).toEqual({ until: END + 60_000 });
  });

  test('ends if the reset is later than it may wait, counted from its first wait', () => {
    const why =
      'It is reset at 2027-03-10T14:00:30Z, and the run may wait until 2026-03-10T20:00:30Z (`park`).';
    expect(waiting({ at: at('2027-03-10T14:00:30Z') })).toEqual({ why });
    const state = { waits: 1, since: END - 5 * HOUR, until: null, takeovers: [] };
    const again = limitWait({ reset: { afterMs: 2 * HOUR }, endedAt: END, parkMs: 6 * HOUR, state });
    expect(again).toHaveProperty('why');
    expect(waiting(null, 30_000)).toEqual({ why: expect.stringContaining('does not say when') });
  });

  test('ends after a number of waits', () => {
    expect(waiting({ afterMs: 1 }, 6 * HOUR, MAX_WAITS - 1)).toHaveProperty('until');
    expect(waiting({ afterMs: 1 }, 6 * HOUR, MAX_WAITS)).toEqual({
      why: expect.stringContaining('10 times'),
    });
  });

  test('does not continue after the time that it may wait', () => {
    const options = { parkMs: HOUR, limit: { waits: 1, since: END, until: END + 1_000, takeovers: [] } };
    const late = (now: number, limit = options.limit) => isTooLate({ parkMs: HOUR, limit } as never, now);
    expect([END + 1_000, END + HOUR, END + HOUR + 1].map(now => late(now))).toEqual([false, false, true]);
    // A little is allowed after a reset at the very end.
    const last = { ...options.limit, until: END + HOUR };
    expect([END + HOUR + 5_000, END + HOUR + 61_000].map(now => late(now, last))).toEqual([false, true]);
  });
});

test.each([
  // The clock of a time zone, today, tomorrow, or just over.
  [{ hour: 15, minute: 0, zone: 'UTC' }, '2026-03-10T15:00Z'],
  [{ hour: 13, minute: 0, zone: 'UTC' }, '2026-03-11T13:00Z'],
  [{ hour: 14, minute: 0, zone: 'UTC' }, '2026-03-10T14:00Z'],
  [{ hour: 1, minute: 20, zone: 'Asia/Shanghai' }, '2026-03-10T17:20Z'],
  [{ hour: 8, minute: 0, zone: 'America/New_York' }, '2026-03-11T12:00Z'],
  // A date, with the year or without, and over a change of clocks.
  [{ date: { year: 2026, month: 8, day: 8 }, hour: 12, minute: 30, zone: 'UTC' }, '2026-08-08T12:30Z'],
  [{ date: { month: 3, day: 12 }, hour: 9, minute: 0, zone: 'UTC' }, '2026-03-12T09:00Z'],
  [{ date: { month: 1, day: 2 }, hour: 9, minute: 0, zone: 'UTC' }, '2027-01-02T09:00Z'],
  [{ date: { month: 3, day: 29 }, hour: 4, minute: 0, zone: 'Europe/Berlin' }, '2026-03-29T02:00Z'],
] as [LimitReset, string][])('the time of %j', { tags: ['G5'] }, (reset, iso) =>
  expect(new Date(resetTime(reset, END)!).toISOString()).toBe(new Date(iso).toISOString()),
);

test('a clock of an unknown time zone has no time', () => {
  expect(resetTime({ hour: 1, minute: 0, zone: 'Mars/Olympus' }, END)).toBeNull();
});
