import type { RunCard } from '../../../../src/schema/run-card.ts';

export interface Span {
  from: number;
  to: number;
}

export interface ShownTurn {
  runId: string;
  number: number;
  startedAt: number;
  endedAt: number | null;
  exitCode: number | null;
}

/** A piece of a run's row: `queued` before its first turn, a `turn`, or the `wait` between two and after one. */
export interface Piece extends Span {
  kind: 'queued' | 'turn' | 'wait';
  /** Number of the turn. Null for other kinds. */
  number: number | null;
  exitCode: number | null;
  /** True if this part of the timeline has not ended. */
  isOpen: boolean;
}

const MIN_MS = 1_000;

/** The span of the whole timeline, with a little space after its end. */
export function wholeSpan(
  cards: readonly Pick<RunCard, 'createdAt' | 'endedAt'>[],
  marks: readonly { at: number }[],
  now: number,
): Span {
  const from = Math.min(...cards.map(({ createdAt }) => createdAt));
  const ends = [...cards.map(({ endedAt }) => endedAt ?? now), ...marks.map(({ at }) => at)];
  if (!Number.isFinite(from)) return { from: now - MIN_MS, to: now };
  const length = Math.max(Math.max(...ends) - from, MIN_MS);
  return { from, to: from + length * 1.02 };
}

/** The selected span, in whichever direction it was dragged. Null if it is too short to be intended. */
export function zoomed(whole: Span, one: number, other: number): Span | null {
  const from = Math.max(whole.from, Math.min(one, other));
  const to = Math.min(whole.to, Math.max(one, other));
  return to - from < MIN_MS / 10 ? null : { from, to };
}

/** Zooms in (factor below 1) or out around a time that keeps its position. */
export function zoomedAround(whole: Span, { from, to }: Span, at: number, factor: number): Span {
  const length = Math.max((to - from) * factor, MIN_MS / 10);
  if (length >= whole.to - whole.from) return whole;
  const share = (at - from) / (to - from);
  const start = Math.min(Math.max(at - length * share, whole.from), whole.to - length);
  return { from: start, to: start + length };
}

export const xOf = ({ from, to }: Span, width: number, at: number): number =>
  ((at - from) / (to - from)) * width;

export const timeAt = ({ from, to }: Span, width: number, x: number): number =>
  from + (Math.min(Math.max(x, 0), width) / width) * (to - from);

/** Visible part of a piece in pixels, never too thin to see. Null if the piece is outside the span. */
export function boxOf(span: Span, width: number, { from, to }: Span): { x: number; width: number } | null {
  if (to < span.from || from > span.to) return null;
  const x = Math.max(xOf(span, width, from), 0);
  const end = Math.min(xOf(span, width, to), width);
  return { x: Math.min(x, width - THINNEST), width: Math.max(end - x, THINNEST) };
}
const THINNEST = 3;

/** Turns of a run and the waits between them. Turn 0, which only opens a chat, is left out. */
export function piecesOf(card: RunCard, turns: readonly ShownTurn[], now: number): Piece[] {
  const own = turns.filter(({ number }) => number > 0).sort((one, other) => one.number - other.number);
  const end = card.endedAt ?? now;
  const pieces: Piece[] = [];
  let last = card.createdAt;
  for (const { number, startedAt, endedAt, exitCode } of own) {
    if (startedAt > last) pieces.push(pause(pieces.length === 0 ? 'queued' : 'wait', last, startedAt, false));
    const to = Math.max(endedAt ?? end, startedAt);
    const isOpen = endedAt === null && card.endedAt === null;
    pieces.push({ kind: 'turn', from: startedAt, to, number, exitCode, isOpen });
    last = Math.max(to, last);
  }
  if (end > last && (card.endedAt === null || own.length === 0))
    pieces.push(pause(own.length === 0 ? 'queued' : 'wait', last, end, card.endedAt === null));
  return pieces;
}

const pause = (kind: 'queued' | 'wait', from: number, to: number, isOpen: boolean): Piece => ({
  ...{ kind, from, to, isOpen },
  number: null,
  exitCode: null,
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map(count => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(count => count * MINUTE),
  ...[1, 2, 3, 6, 12].map(count => count * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map(count => count * DAY),
];
const ROOM_FOR_LABEL = 76;

/** Round times on the user's clock, as many as fit. */
export function ticksOf({ from, to }: Span, width: number): { at: number; label: string }[] {
  const most = Math.max(Math.floor(width / ROOM_FOR_LABEL), 1);
  const step = STEPS.find(each => (to - from) / each <= most) ?? STEPS.at(-1)!;
  const shift = new Date(from).getTimezoneOffset() * MINUTE;
  const ticks: { at: number; label: string }[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step)
    ticks.push({ at, label: tickLabel(at, step) });
  return ticks;
}

function tickLabel(at: number, step: number): string {
  const when = new Date(at);
  if (step >= DAY) return `${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  const clock = `${two(when.getHours())}:${two(when.getMinutes())}`;
  return step < MINUTE ? `${clock}:${two(when.getSeconds())}` : clock;
}

const two = (value: number) => String(value).padStart(2, '0');
