import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fitItems,
  fitToLength,
  jsonLength,
  leastLength,
  longestStart,
  type Sample,
  type TextItem,
} from './digest.ts';

const whole = (text: string): Sample => ({ head: text, tail: '', bytes: Buffer.byteLength(text) });
const text = fc.string({ unit: 'grapheme', maxLength: 400 });

describe('texts that share a budget', () => {
  test('never take more of it than there is, and are never half a character', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 1500 }),
        (texts, budget) => {
          const cuts = fitToLength(texts.map(whole), budget);
          expect(cuts.reduce((sum, cut) => sum + jsonLength(cut.text), 0)).toBeLessThanOrEqual(budget);
          for (const cut of cuts) expect(cut.text.isWellFormed()).toBe(true);
        },
      ),
    );
  });

  test('are left whole when they fit, and say so when they are not', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 1500 }),
        (texts, budget) => {
          fitToLength(texts.map(whole), budget).forEach((cut, i) => {
            expect(cut.truncated).toBe(cut.text !== texts[i]);
          });
          const needed = texts.reduce((sum, one) => sum + jsonLength(one), 0);
          if (needed <= budget)
            expect(fitToLength(texts.map(whole), budget).some(cut => cut.truncated)).toBe(false);
        },
      ),
    );
  });

  test('what a short text does not use goes to the long one', () => {
    const [short, long] = fitToLength([whole('ok'), whole('x'.repeat(5000))], 1000);
    expect(short).toEqual({ text: 'ok', truncated: false });
    expect(jsonLength(long!.text)).toBeGreaterThan(950);
  });

  test('a cut one keeps its first and its last words and tells its size', () => {
    const sample = {
      head: `first ${'a'.repeat(3000)}`,
      tail: `${'z'.repeat(3000)} last words`,
      bytes: 9_000_000,
    };
    const [cut] = fitToLength([sample], 500);
    expect(cut!.text).toMatch(/^first a+\n\[… left out, 9000000 bytes in all …\]\nz+ last words$/);
  });

  test('a cut one says how to read on from where it is cut, in bytes, and still fits', () => {
    const readOn = (offset: number) => `read(${offset})`;
    for (let budget = 140; budget < 400; budget += 7) {
      const [cut] = fitToLength([{ ...whole('é→😀'.repeat(2_000)), readOn }], budget);
      expect(jsonLength(cut!.text)).toBeLessThanOrEqual(budget);
      const [, head, offset] = /^(.*)\n\[… left out, 18000 bytes in all; read\((\d+)\) reads on …\]/.exec(
        cut!.text,
      )!;
      expect(Number(offset)).toBe(Buffer.byteLength(head!));
    }
  });

  test('a cut one with little room has text instead of how to read on', () => {
    const readOn = () => 'read(0)';
    const [cut] = fitToLength([{ ...whole('a'.repeat(2_000)), readOn }], 90);
    expect(cut!.text).toMatch(/^a+\n\[… left out, 2000 bytes in all …\]\na+$/);
  });

  test('control characters count as much as they take in JSON', () => {
    const [cut] = fitToLength([whole('\u0001'.repeat(1000))], 1200);
    expect(jsonLength(cut!.text)).toBeLessThanOrEqual(1200);
    expect(cut!.truncated).toBe(true);
  });
});

test('the longest start of a text fits and the next character would not', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 600 }), (given, budget) => {
      const start = longestStart(given, budget);
      expect(given.startsWith(start)).toBe(true);
      expect(jsonLength(start)).toBeLessThanOrEqual(budget);
      const next = [...given.slice(start.length)][0];
      if (next !== undefined) expect(jsonLength(start + next)).toBeGreaterThan(budget);
    }),
  );
});

describe('items that carry handles only when a text is cut', () => {
  const item = (handles: number, ...texts: string[]): TextItem => ({ samples: texts.map(whole), handles });
  const used = (items: TextItem[], budget: number) =>
    fitItems(items, budget).reduce((sum, cuts, i) => {
      const isCut = cuts.some(({ truncated }) => truncated);
      return cuts.reduce((all, { text }) => all + jsonLength(text), sum + (isCut ? items[i]!.handles : 0));
    }, 0);

  test('never take more than the budget when it holds what they need at least', () => {
    const items = fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.array(text, { maxLength: 3 })));
    fc.assert(
      fc.property(items, fc.integer({ min: 0, max: 2_000 }), (given, more) => {
        const list = given.map(([handles, texts]) => item(handles, ...texts));
        const budget = list.reduce((sum, each) => sum + leastLength(each), 0) + more;
        expect(used(list, budget)).toBeLessThanOrEqual(budget);
      }),
    );
  });

  test('are all whole when their texts fit without the handles', () => {
    const items = [item(100, 'a'.repeat(200), 'b'), item(100, 'c'.repeat(500))];
    expect(fitItems(items, 701).flat()).not.toContainEqual(expect.objectContaining({ truncated: true }));
    expect(used(items, 701)).toBe(701);
  });

  test('a short item stays whole beside one that is cut', () => {
    const [short, long] = fitItems([item(100, 'x'.repeat(350)), item(100, 'y'.repeat(9_000))], 1_000);
    expect(short).toEqual([{ text: 'x'.repeat(350), truncated: false }]);
    expect(jsonLength(long![0]!.text)).toBeGreaterThan(500);
  });
});
