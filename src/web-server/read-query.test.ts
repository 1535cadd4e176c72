import { expect, test } from 'vitest';
import { z } from 'zod';
import { readQuery } from './rest.ts';

const input = z.strictObject({
  run: z.string(),
  limit: z.number().int().default(20),
  ratio: z.number().optional(),
  all: z.boolean().optional(),
  ids: z.array(z.string()).optional(),
  turns: z.array(z.number()).optional(),
  before: z.number().nullable().optional(),
  status: z.array(z.enum(['running', 'queued'])).optional(),
});
const schema = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>;
const read = (query: string) => readQuery(new URLSearchParams(query), schema);

test('words become what the operation expects, and stay words where it expects those', () => {
  expect(read('run=123&limit=5&ratio=-0.5&all=true&before=7')).toEqual({
    run: '123',
    limit: 5,
    ratio: -0.5,
    all: true,
    before: 7,
  });
});

test('what may be many is a list, also when it is one', () => {
  expect(read('ids=a&turns=1&turns=2&status=running')).toEqual({
    ids: ['a'],
    turns: [1, 2],
    status: ['running'],
  });
});

test.each([
  'limit=',
  'limit=0x10',
  'limit=1_0',
  'limit=NaN',
  'limit=five',
  'limit=1&limit=2',
  'all=yes',
  'all=1',
])('what does not fit is left for the operation to refuse: %s', query => {
  expect(input.safeParse({ run: 'r', ...read(query) }).success).toBe(false);
});

test('a field nobody knows is not dropped without a word', () => {
  expect(read('run=r&__proto__=x&other=1')).toHaveProperty('other', '1');
  expect(input.safeParse(read('run=r&other=1')).success).toBe(false);
});

test('the fields of one of several kinds of input are known too', () => {
  const either = z.union([z.strictObject({ a: z.number() }), z.strictObject({ b: z.boolean() })]);
  const schemaOfEither = z.toJSONSchema(either) as Record<string, unknown>;
  expect(readQuery(new URLSearchParams('a=1&b=true'), schemaOfEither)).toEqual({ a: 1, b: true });
});
