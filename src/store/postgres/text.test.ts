import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromStored, toStored } from './text.ts';

test('any text comes back, and no NUL reaches the database', () => {
  const text = fc.string({ unit: fc.constantFrom('\0', '\uE000', '0', 'a', '😀') });
  fc.assert(
    fc.property(text, value => {
      const stored = toStored(value) as string;
      expect(stored).not.toContain('\0');
      expect(fromStored(stored)).toBe(value);
    }),
  );
  expect(toStored(['a\0', null, 1])).toEqual(['a\uE0000', null, 1]);
});
