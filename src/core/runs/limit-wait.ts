import type { LimitState, Run, RunError } from '../../schema/run.ts';
import { limitTime } from '../../schema/run-text.ts';
import type { LimitReset } from '../ports/engine.ts';

/** Engines report whole seconds, and the clock of the service differs. A request must not come before the reset. */
const MARGIN_MS = 1_000;
/** First wait for a limit without a time. Each further wait of the run is twice as long. */
const UNKNOWN_WAIT_MS = 60_000;
/** First wait if the reported time of the reset is already over. Further waits are longer. */
const PAST_WAIT_MS = 2_000;
const MAX_BACK_OFF_MS = 30 * 60_000;
/** Waits of one run. An engine that is limited again after each of them will not finish the task. */
export const MAX_WAITS = 10;
/** Largest time that a `Date` can hold. */
const MAX_TIME = 8.64e15;

export interface LimitFacts {
  /** Time of the reset as the engine reported it. Null if the engine reported none. */
  reset: LimitReset | null;
  /** End of the limited turn, to which relative times refer. A later hub decides the same. */
  endedAt: number;
  parkMs: number;
  state: LimitState | null;
}

/** Until when a run waits for a usage limit, or why it does not wait. */
export function limitWait({
  reset,
  endedAt,
  parkMs,
  state,
}: LimitFacts): { until: number } | { why: string } {
  const waits = state?.waits ?? 0;
  if (waits >= MAX_WAITS) return { why: `It has waited ${waits} times, which is the most.` };
  const resetAt = reset && resetTime(reset, endedAt);
  const until =
    resetAt !== null && resetAt > endedAt
      ? resetAt + MARGIN_MS
      : endedAt + Math.min(MAX_BACK_OFF_MS, (resetAt === null ? UNKNOWN_WAIT_MS : PAST_WAIT_MS) * 2 ** waits);
  const deadline = (state?.since ?? endedAt) + parkMs;
  if (until <= deadline) return { until };
  const when =
    resetAt === null ? 'The engine does not say when it is reset' : `It is reset at ${limitTime(resetAt)}`;
  return { why: `${when}, and the run may wait until ${limitTime(deadline)} (\`park\`).` };
}

/** A hub that was not there at the reset continues the run later, but not after the time that the run may wait. */
export const isTooLate = ({ limit, parkMs }: Run['options'], now: number): boolean =>
  limit?.since != null &&
  parkMs !== null &&
  now > Math.max(limit.since + parkMs, (limit.until ?? 0) + LATE_MS);

/** A busy hub continues a run a little late. */
const LATE_MS = 60_000;

export const LATE_ERROR: RunError = {
  code: 'ENGINE_RATE_LIMITED',
  message:
    'The usage limit is reset, but the hub was not running then, and the time that the run may wait (`park`) is over.',
};

/** Begins the next turn in the chat of the limited one. */
export const CONTINUE_TEXT =
  'Your last turn ended at a usage limit, which is reset now. Continue with your task where you stopped.';

/** Note in the result of a run that has waited. */
export const waitNote = (waits: number): string =>
  `Waited ${waits === 1 ? 'once' : `${waits} times`} for a usage limit of its engine (\`squad events\` has the times).`;

/** A time of day that is over by less than this is in the past. Otherwise it is one of tomorrow. */
const JUST_OVER_MS = 10 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The time of a reset. Null if there is no such time. */
export function resetTime(reset: LimitReset, endedAt: number): number | null {
  const at =
    'at' in reset ? reset.at : 'afterMs' in reset ? endedAt + reset.afterMs : onClock(reset, endedAt);
  return at !== null && Math.abs(at) <= MAX_TIME ? at : null;
}

type OnClock = Extract<LimitReset, { hour: number }>;

/** The next time that a clock shows this hour, or this date and hour. */
function onClock({ date, hour, minute, zone }: OnClock, endedAt: number): number | null {
  const today = partsIn(zone, endedAt);
  if (today === null) return null;
  const at = (year: number, month: number, day: number) => timeIn(zone, [year, month, day, hour, minute]);
  if (date?.year !== undefined) return at(date.year, date.month, date.day);
  if (date) {
    const found = at(today[0], date.month, date.day);
    return found > endedAt - DAY_MS ? found : at(today[0] + 1, date.month, date.day);
  }
  const found = at(today[0], today[1], today[2]);
  return found > endedAt - JUST_OVER_MS ? found : at(today[0], today[1], today[2] + 1);
}

type ClockParts = [year: number, month: number, day: number, hour: number, minute: number];

/** Date and time of day in a time zone. Null for an unknown zone. Zone null is the hub's own. */
function partsIn(zone: string | null, at: number): ClockParts | null {
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone ?? undefined, hourCycle: 'h23' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' },
    }).formatToParts(at);
    const figure = (type: string) => Number(parts.find(part => part.type === type)?.value);
    return [figure('year'), figure('month'), figure('day'), figure('hour'), figure('minute')];
  } catch {
    return null; // Intl throws for a zone that it does not know
  }
}

/** Time at which a clock in a time zone shows this. */
function timeIn(zone: string | null, [year, month, day, hour, minute]: ClockParts): number {
  const asUtc = (parts: ClockParts) => Date.UTC(parts[0], parts[1] - 1, parts[2], parts[3], parts[4]);
  const wanted = asUtc([year, month, day, hour, minute]);
  // A second try, because daylight saving time may begin or end between the first guess and the wanted time.
  let at = wanted;
  for (let tries = 0; tries < 2; tries++) at += wanted - asUtc(partsIn(zone, at)!);
  return at;
}
