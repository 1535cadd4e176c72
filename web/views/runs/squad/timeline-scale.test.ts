import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { boxOf, piecesOf, ticksOf, timeAt, wholeSpan, xOf, zoomed, zoomedAround } from './timeline-scale.ts';

const SPAN = { from: 1_000, to: 11_000 };

describe('wholeSpan', () => {
  it('reaches from the first run to now while one is running', () => {
    const span = wholeSpan(
      [
        { createdAt: 1_000, endedAt: 5_000 },
        { createdAt: 2_000, endedAt: null },
      ],
      [],
      11_000,
    );
    expect(span.from).toBe(1_000);
    expect(span.to).toBeGreaterThanOrEqual(11_000);
  });

  it('holds what happened after the last end, such as a merge', () => {
    expect(wholeSpan([{ createdAt: 0, endedAt: 5_000 }], [{ at: 60_000 }], 0).to).toBeGreaterThanOrEqual(
      60_000,
    );
  });

  it('is never empty', () => {
    const span = wholeSpan([{ createdAt: 5, endedAt: 5 }], [], 5);
    expect(span.to - span.from).toBeGreaterThanOrEqual(1_000);
    expect(wholeSpan([], [], 9_000).to).toBe(9_000);
  });
});

describe('places', () => {
  it('are the same there and back', () => {
    expect(xOf(SPAN, 500, 6_000)).toBe(250);
    expect(timeAt(SPAN, 500, 250)).toBe(6_000);
    expect(timeAt(SPAN, 500, -20)).toBe(1_000);
    expect(timeAt(SPAN, 500, 900)).toBe(11_000);
  });

  it('cut a piece at the edges and keep a short one visible', () => {
    expect(boxOf(SPAN, 100, { from: 0, to: 6_000 })).toEqual({ x: 0, width: 50 });
    expect(boxOf(SPAN, 100, { from: 6_000, to: 90_000 })).toEqual({ x: 50, width: 50 });
    expect(boxOf(SPAN, 100, { from: 6_000, to: 6_001 })?.width).toBe(3);
    expect(boxOf(SPAN, 100, { from: 11_000, to: 11_000 })).toEqual({ x: 97, width: 3 });
    expect(boxOf(SPAN, 100, { from: 12_000, to: 13_000 })).toBeNull();
    expect(boxOf(SPAN, 100, { from: 0, to: 999 })).toBeNull();
  });
});

describe('zoom', () => {
  it('takes a selection either way round, inside the whole', () => {
    expect(zoomed(SPAN, 9_000, 3_000)).toEqual({ from: 3_000, to: 9_000 });
    expect(zoomed(SPAN, 0, 3_000)).toEqual({ from: 1_000, to: 3_000 });
    expect(zoomed(SPAN, 3_000, 3_010)).toBeNull();
  });

  it('keeps the moment under the pointer where it is', () => {
    const closer = zoomedAround(SPAN, SPAN, 6_000, 0.5);
    expect(closer).toEqual({ from: 3_500, to: 8_500 });
    expect(xOf(closer, 100, 6_000)).toBe(xOf(SPAN, 100, 6_000));
  });

  it('does not go past the whole', () => {
    expect(zoomedAround(SPAN, { from: 3_500, to: 8_500 }, 6_000, 4)).toEqual(SPAN);
    expect(zoomedAround(SPAN, { from: 1_000, to: 3_000 }, 3_000, 2)).toEqual({ from: 1_000, to: 5_000 });
  });
});

describe('piecesOf', () => {
  it('tells queueing, turns and the waits between them apart', () => {
    const turns = [turn(2, 400, 500), turn(1, 100, 300)];
    expect(piecesOf(card(0, 500), turns, 900).map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ['queued', 0, 100],
      ['turn', 100, 300],
      ['wait', 300, 400],
      ['turn', 400, 500],
    ]);
  });

  it('lets the turn of a running run grow up to now', () => {
    const [, piece] = piecesOf(card(0, null), [turn(1, 100, null)], 900);
    expect(piece).toMatchObject({ kind: 'turn', to: 900, isOpen: true });
  });

  it('shows a run that waits after its turn, and one that never started', () => {
    expect(piecesOf(card(0, null), [turn(1, 0, 300)], 900).at(-1)).toMatchObject({
      ...{ kind: 'wait', from: 300, to: 900, isOpen: true },
    });
    expect(piecesOf(card(0, 700), [], 900)).toMatchObject([{ kind: 'queued', to: 700, isOpen: false }]);
  });

  it('ends a turn without an end of its own where its run ended', () => {
    expect(piecesOf(card(0, 700), [turn(1, 100, null)], 900).at(-1)).toMatchObject({
      to: 700,
      isOpen: false,
    });
  });

  it('leaves out the turn that only opens a chat', () => {
    expect(piecesOf(card(0, 10), [turn(0, 0, 5), turn(1, 5, 10)], 10).map(({ number }) => number)).toEqual([
      null,
      1,
    ]);
  });
});

describe('ticksOf', () => {
  it('gives round moments with room for their labels', () => {
    const from = new Date(2026, 0, 5, 12, 0, 3).getTime();
    expect(ticksOf({ from, to: from + 60_000 }, 400).map(({ label }) => label)).toEqual([
      ...['12:00:15', '12:00:30', '12:00:45', '12:01:00'],
    ]);
    expect(ticksOf({ from, to: from + 3 * 3_600_000 }, 400).map(({ label }) => label)).toEqual([
      ...['13:00', '14:00', '15:00'],
    ]);
  });

  it('never gives more than fit, however long the time', () => {
    for (const days of [1, 10, 400, 5_000])
      expect(ticksOf({ from: 0, to: days * 86_400_000 }, 300).length).toBeLessThan(days > 2_000 ? 20 : 5);
  });
});

const turn = (number: number, startedAt: number, endedAt: number | null) => ({
  ...{ runId: 'run_a', number, startedAt, endedAt },
  exitCode: endedAt === null ? null : 0,
});

const card = (createdAt: number, endedAt: number | null) =>
  ({ id: 'run_a', createdAt, endedAt }) as unknown as RunCard;
