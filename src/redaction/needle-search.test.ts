import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkProperty } from '../core/testing/check-property.ts';
import { MIN_SECRET_LENGTH, searchFor } from './secret-forms.ts';

const letters = (minLength: number, maxLength: number) =>
  fc.string({ minLength, maxLength, unit: fc.constantFrom('a', 'é') });

test('matches are those that separate searches would find', () => {
  const seen = { found: 0, not: 0 };
  checkProperty(
    fc.property(
      fc.array(letters(MIN_SECRET_LENGTH, 9), { maxLength: 4 }),
      letters(0, 60),
      (needles, text) => {
        const isThere = needles.some(needle => text.includes(needle));
        seen[isThere ? 'found' : 'not']++;
        expect(searchFor(needles)(text)).toBe(isThere);
      },
    ),
    0.2,
  );
  expect(Math.min(seen.found, seen.not)).toBeGreaterThan(0);
});

test('a needle is found at any place, also at the very beginning and end', () => {
  for (let before = 0; before < 9; before++)
    for (let after = 0; after < 9; after++) {
      const text = `${'x'.repeat(before)}needle${'y'.repeat(after)}`;
      expect(searchFor(['needle', 'longer needle'])(text)).toBe(true);
      expect(searchFor(['needles', 'xneedla'])(text)).toBe(false);
    }
});
