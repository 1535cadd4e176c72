import type { EngineEvent, EngineReader, LimitReset } from '../core/ports/engine.ts';

/**
 * Extends the reader of any engine: if a turn ended at a usage limit, takes the time of the reset from the error
 * message.
 */
export function readingResets(reader: EngineReader): EngineReader {
  const read = (events: EngineEvent[]) => events.map(withReset);
  const { tooLong, finish } = reader;
  return {
    line: line => read(reader.line(line)),
    ...(tooLong && { tooLong: beginning => read(tooLong(beginning)) }),
    ...(finish && { finish: async exit => read(await finish(exit)) }),
  };
}

function withReset(event: EngineEvent): EngineEvent {
  if (event.type !== 'end' || event.code !== 'ENGINE_RATE_LIMITED' || event.reset) return event;
  const reset = limitReset(event.error ?? '');
  return reset ? { ...event, reset } : event;
}

/** When a usage limit is reset, as far as an error message says so. Null if it does not. */
export function limitReset(message: string): LimitReset | null {
  const given = inJson(message) ?? EPOCH.exec(message)?.[1];
  if (typeof given === 'object') return given;
  if (given !== undefined) return { at: epochMs(Number(given)) };
  const iso = ISO.exec(message)?.[0];
  if (iso !== undefined) return { at: Date.parse(iso) };
  const span = SPAN.exec(message)?.[1];
  if (span !== undefined) return { afterMs: spanMs(span) };
  return onClock(message);
}

/** Services report seconds, and only values of the far future could be mistaken for milliseconds. */
export const epochMs = (figure: number): number => (Math.abs(figure) < 1e11 ? figure * 1_000 : figure);

/** Fields of API errors that CLIs pass on as JSON: those of OpenAI, and `retryDelay` of Google. */
function inJson(message: string): LimitReset | null {
  const at = /"resets?_?at"\s*:\s*(\d{9,13})\b/i.exec(message)?.[1];
  if (at !== undefined) return { at: epochMs(Number(at)) };
  const after = /"resets_in_seconds"\s*:\s*(\d{1,9})\b/.exec(message)?.[1];
  if (after !== undefined) return { afterMs: Number(after) * 1_000 };
  const delay = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d+)?)s"/.exec(message)?.[1];
  return delay === undefined ? null : { afterMs: Number(delay) * 1_000 };
}

/** `Claude AI usage limit reached|1758598800` */
const EPOCH = /limit reached\|(\d{9,13})\b/;

const WHEN = '(?:try again|retry|retry.?after|resets?|reset after|available(?: again)?|wait)';
const ISO = new RegExp(
  String.raw`(?<=${WHEN}[^\n]{0,20})\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)`,
  'i',
);

const UNIT_MS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const AMOUNT = String.raw`\d{1,9}(?:\.\d{1,6})?\s?(?:days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)(?![a-z])`;
/** `try again in 2 days 17 hours 14 minutes`, `Please retry in 35.2s`, `quota will reset after 13h24m5s` */
const SPAN = new RegExp(String.raw`${WHEN}[:\s]*(?:in|after)?[:\s]+((?:${AMOUNT}[,\s]*(?:and )?){1,5})`, 'i');

function spanMs(span: string): number {
  const parts = [...span.matchAll(/(\d+(?:\.\d+)?)\s?(ms|[dhms])/gi)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit!.toLowerCase()]!, 0);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** `try again at 12:16 PM`, `resets 8:20pm (Asia/Singapore)`, `try again at Aug 8th, 2026 12:30 PM` */
const CLOCK = new RegExp(
  String.raw`${WHEN}(?:\s+(?:at|on))?\s+` +
    String.raw`(?:(?<month>${MONTHS.join('|')})[a-z]*\.?\s+(?<day>\d{1,2})(?:st|nd|rd|th)?,?(?:\s+(?<year>\d{4}),?)?(?:\s+at)?\s+)?` +
    String.raw`(?<hour>\d{1,2})(?::(?<minute>\d\d))?\s*(?<half>[ap])?\.?m?\.?(?:\s*\(?(?<zone>UTC|GMT|[A-Z][A-Za-z_]+(?:/[A-Za-z_+-]+)+)\)?)?`,
  'i',
);

function onClock(message: string): LimitReset | null {
  const found = CLOCK.exec(message)?.groups;
  // A lone number is no time: it could count anything.
  if (!found || (found.minute === undefined && found.half === undefined)) return null;
  const { month, day, year, half, zone = null } = found;
  const twelve = Number(found.hour);
  const hour = half === undefined ? twelve : (twelve % 12) + (/p/i.test(half) ? 12 : 0);
  const minute = Number(found.minute ?? 0);
  if (hour > 23 || minute > 59 || (half !== undefined && (twelve < 1 || twelve > 12))) return null;
  const date = month !== undefined && {
    ...(year !== undefined && { year: Number(year) }),
    month: MONTHS.indexOf(month.toLowerCase()) + 1,
    day: Number(day),
  };
  return { ...(date && { date }), hour, minute, zone: zone || null };
}
