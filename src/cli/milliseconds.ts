import { SquadError } from '../schema/error.ts';

/** The value of an option that says how long: 90s, 15m, 2h; a bare number is seconds. */
export function milliseconds(option: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit]!);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new SquadError('INVALID_INPUT', `${option} cannot be ${JSON.stringify(text)}`, {
    suggestions: ['Write 90s, 15m or 2h, up to 24 days.'],
  });
}
