import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeZodIssue } from './zod-issue-text.ts';

const form = z.strictObject({
  text: z.string().min(1).max(3).optional(),
  count: z.number().int().min(1).max(9).optional(),
  price: z.number().positive().optional(),
  kind: z.enum(['a', 'b']).optional(),
  list: z.array(z.string()).min(1).optional(),
  flag: z.boolean().optional(),
  either: z.union([z.string(), z.array(z.string())]).optional(),
  code: z.string().regex(/^x+$/).optional(),
  own: z.string().regex(/^y+$/, 'is not made of y').optional(),
  map: z.record(z.string(), z.number()).optional(),
});

test.each<[object, string]>([
  [{ text: 5 }, 'must be text, not a number'],
  [{ text: '' }, 'must not be empty'],
  [{ text: 'long' }, 'must have at most 3 characters'],
  [{ text: null }, 'must be text, not null'],
  [{ count: '5' }, 'must be a number, not text'],
  [{ count: 0.5 }, 'must be a whole number, not a fraction'],
  [{ count: 0 }, 'must be at least 1'],
  [{ count: 10 }, 'must be at most 9'],
  [{ price: 0 }, 'must be more than 0'],
  [{ kind: 'c' }, 'must be one of a, b'],
  [{ list: [] }, 'must not be empty'],
  [{ list: {} }, 'must be a list, not an object'],
  [{ flag: 'yes' }, 'must be true or false, not text'],
  [{ either: 1 }, 'must be text or a list, not a number'],
  [{ code: 'y' }, 'must be of the form /^x+$/'],
  [{ own: 'x' }, 'is not made of y'],
  [{ map: [] }, 'must be an object, not a list'],
  [{ a: 1, b: 2 }, 'must not have "a", "b"'],
])('%j %s', (value, expected) => {
  const { issues } = form.safeParse(value, { error: describeZodIssue }).error!;
  expect(issues.map(({ message }) => message)).toEqual([expected]);
});

test('a missing value is reported as missing', () => {
  const { issues } = z
    .object({ prompt: z.string(), kind: z.enum(['a', 'b']), either: z.union([z.string(), z.number()]) })
    .safeParse({}, { error: describeZodIssue }).error!;
  expect(issues.map(({ message }) => message)).toEqual([
    'is missing; it must be text',
    'is missing; it must be one of a, b',
    'is missing; it must be text or a number',
  ]);
});
