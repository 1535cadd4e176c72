import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const MODULE = new URL('./usage.ts', import.meta.url).href;

/** In a process of its own: the time zone of this one is the machine's. */
function daysIn(zone: string, now: string, count: number): { day: string; hours: number }[] {
  const program = `
    import { dayOf, lastDays } from ${JSON.stringify(MODULE)};
    const now = Date.parse(${JSON.stringify(now)});
    const days = lastDays(now, ${count});
    const end = new Date(days.at(-1)).setHours(24, 0, 0, 0);
    console.log(JSON.stringify(days.map((at, i) => ({ day: dayOf(at), hours: ((days[i + 1] ?? end) - at) / 3600000 }))));`;
  const out = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    env: { TZ: zone },
    encoding: 'utf8',
  });
  return JSON.parse(out);
}

describe('the last days', () => {
  it('begin at midnight where the user is', () => {
    // 23:30 in UTC is the next day in Tokyo.
    expect(daysIn('UTC', '2026-03-10T23:30:00Z', 2).map(({ day }) => day)).toEqual([
      '2026-03-09',
      '2026-03-10',
    ]);
    expect(daysIn('Asia/Tokyo', '2026-03-10T23:30:00Z', 2).map(({ day }) => day)).toEqual([
      '2026-03-10',
      '2026-03-11',
    ]);
  });

  it('are whole days where the clocks are changed', () => {
    expect(daysIn('Europe/Berlin', '2026-03-30T12:00:00Z', 3)).toEqual([
      { day: '2026-03-28', hours: 24 },
      { day: '2026-03-29', hours: 23 },
      { day: '2026-03-30', hours: 24 },
    ]);
    expect(daysIn('Europe/Berlin', '2026-10-26T12:00:00Z', 3).map(({ hours }) => hours)).toEqual([
      24, 25, 24,
    ]);
  });

  it('go back over months and years', () => {
    const days = daysIn('America/New_York', '2026-01-01T12:00:00Z', 366);
    expect(days).toHaveLength(366);
    expect(new Set(days.map(({ day }) => day)).size).toBe(366);
    expect([days.at(-2), days.at(-1)]).toMatchObject([{ day: '2025-12-31' }, { day: '2026-01-01' }]);
  });
});
