const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
/** Timers cannot be set further ahead. */
const LONGEST_MS = 2 ** 31 - 1;

/** `90s`, `5m`, `1h30m` in milliseconds; a bare number is seconds. Null: it is no time, or too long a one. */
export function durationMs(text: string | number): number | null {
  const whole = /^\d+(\.\d+)?$/.test(String(text)) ? `${text}s` : String(text);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(whole)) return null;
  const ms = [...whole.matchAll(/([\d.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as keyof typeof UNITS],
    0,
  );
  return ms >= 1 && ms <= LONGEST_MS ? Math.round(ms) : null;
}
