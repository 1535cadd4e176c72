import { expect, test } from 'vitest';
import { typeOfSchema } from './schema-type.ts';

const type = (schema: unknown) => typeOfSchema(schema, 'X').type.replaceAll(/\s+/g, ' ');

test.each<[unknown, string]>([
  [true, 'unknown'],
  [{}, 'unknown'],
  [null, 'unknown'],
  ['text', 'unknown'],
  [false, 'never'],
  [{ type: 'string' }, 'string'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'null' }, 'null'],
  [{ type: 'strange' }, 'unknown'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: ['string', 'strange'] }, 'unknown'],
  [{ type: 'string', nullable: true }, 'string | null'],
  [{ const: 'a' }, '"a"'],
  [{ const: null }, 'null'],
  [{ const: { a: 1 } }, 'unknown'],
  [{ enum: ['a', 2, true, null] }, '"a" | 2 | true | null'],
  [{ enum: ['a', {}] }, 'unknown'],
  [{ enum: [] }, 'unknown'],
  [{ type: 'array' }, 'Array<unknown>'],
  [{ type: 'array', items: { type: ['string', 'number'] } }, 'Array<string | number>'],
  [{ items: { type: 'string' } }, 'Array<string>'],
  [
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 1 },
    '[string, number?]',
  ],
  [
    { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'null' } },
    '[string?, ...Array<null>]',
  ],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ patternProperties: { '^x': { type: 'number' } } }, 'Record<string, number>'],
  [{ properties: { a: { type: 'string' } }, required: ['a'] }, '{ a: string; }'],
  [
    { properties: { a: {} }, additionalProperties: { type: 'number' } },
    '{ a?: unknown; } & Record<string, number>',
  ],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
  [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  [{ oneOf: [{ const: 'a' }, { type: 'null' }] }, '"a" | null'],
  [
    { allOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'string' }] },
    '(string | number) & string',
  ],
  [{ $ref: '#/none' }, 'unknown'],
  [{ $ref: 'https://example.com/schema' }, 'unknown'],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, 'X_a_1b'],
  [{ $ref: '#/__proto__' }, 'unknown'],
  [{ $ref: '#/%' }, 'unknown'],
])('%j is %s', (schema, expected) => {
  expect(type(schema)).toBe(expected);
});

test('a very deep or large schema ends in unknown quickly', () => {
  let deep: object = { type: 'string' };
  for (let n = 0; n < 5000; n++) deep = { type: 'array', items: deep };
  expect(type(deep)).toMatch(/^(Array<)+unknown>+$/);
  const wide = {
    properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`p${n}`, { type: 'string' }])),
  };
  expect(type(wide)).toMatch(/p9999\?: unknown; }$/);
  const many = Object.fromEntries(
    Array.from({ length: 5000 }, (_, n) => [`d${n}`, { $ref: `#/$defs/d${n + 1}` }]),
  );
  expect(typeOfSchema({ $ref: '#/$defs/d0', $defs: many }, 'X').named.length).toBeLessThan(2100);
});

test('a reference to itself uses its own name', () => {
  expect(typeOfSchema({ $ref: '#' }, 'X')).toEqual({
    type: 'X_Root',
    named: [{ name: 'X_Root', type: 'X_Root' }],
  });
});
