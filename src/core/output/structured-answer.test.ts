import { describe, expect, test } from 'vitest';
import { schemaFault, structuredAnswer } from './structured-answer.ts';

const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { bugs: { type: 'array', items: { type: 'string' } } },
  required: ['bugs'],
};
const given = (answer: string, structured?: unknown) => structuredAnswer(schema, answer, structured);

test.each([
  ['bare', '{"bugs":["a"]}'],
  ['in a bare fence', '```\n{"bugs":["a"]}\n```'],
  ['in a fence', '```json\n{"bugs":["a"]}\n```\n'],
  ['with space around it', '\n {"bugs":["a"]} \n'],
])('an answer that keeps to its schema is a value: %s', async (_, answer) => {
  expect(await given(answer)).toEqual({ value: { bugs: ['a'] } });
});

test("the engine's own value counts before its words", async () => {
  expect(await given('Here you are.', { bugs: [] })).toEqual({ value: { bugs: [] } });
});

test.each([
  ['no JSON', 'I found none', 'it is not JSON'],
  ['nothing', '', 'It said nothing.'],
  ['another value', '{"bugs":[1]}', '/bugs/0 must be string'],
  ['null', 'null', 'must be object'],
])('anything else is an error that carries the text: %s', async (_, answer, why) => {
  const checked = await given(answer);
  expect(checked).toMatchObject({ error: { code: 'OUTPUT_MISMATCH' } });
  expect('error' in checked && checked.error.message).toContain(why);
  expect('error' in checked && checked.error.message).toContain(answer);
});

test('a value of the engine that does not keep to the schema is not taken for its word', async () => {
  expect(await given('{"bugs":[]}', { bugs: 'none' })).toMatchObject({ error: { code: 'OUTPUT_MISMATCH' } });
});

test('a check that would hold everybody up is cut off, and is no yes', async () => {
  const slow = { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } };
  const checked = await structuredAnswer(slow, JSON.stringify({ s: `${'a'.repeat(40)}!` }), undefined);
  expect(checked).toMatchObject({ error: { message: expect.stringContaining('takes too long') } });
});

test.each([
  ['a schema that refers to itself and nothing else', { $ref: '#' }, '{}'],
  [
    'a value deeper than any program can follow',
    { properties: { n: { $ref: '#' } } },
    `${'{"n":'.repeat(9_000)}1${'}'.repeat(9_000)}`,
  ],
])('a value that cannot be checked is no match: %s', async (_, endless, answer) => {
  expect(await structuredAnswer(endless, answer, undefined)).toMatchObject({
    error: { code: 'OUTPUT_MISMATCH', message: expect.stringContaining('could not be checked') },
  });
});

test('a schema whose check gives a promise is none', async () => {
  const promising = { properties: { a: { $async: true, required: ['b'] } } };
  expect(await schemaFault(promising)).toContain('$async');
  expect(await structuredAnswer(promising, '{"a":{}}', undefined)).toHaveProperty('error');
});

test('a fence of nothing but lines is read at once', async () => {
  expect(await given(`\`\`\`${'\n'.repeat(300_000)}`)).toHaveProperty('error');
});

test.each([
  ['date-time', '2026-11-16T06:00:00Z', 'at six'],
  ['date', '2028-02-29', '2026-02-29'],
  ['email', 'me@example.org', 'me'],
  ['uri', 'https://example.org/a?b#c', 'over there'],
  ['uuid', '0b8a3e0c-6a2f-4b7e-9f56-0d3f6e8a1c11', '0b8a'],
])('a format is checked: %s', async (format, sound, wrong) => {
  const dated = { type: 'object', properties: { at: { type: 'string', format } } };
  expect(await structuredAnswer(dated, '', { at: sound })).toEqual({ value: { at: sound } });
  expect(await structuredAnswer(dated, '', { at: wrong })).toMatchObject({
    error: { message: expect.stringContaining(`/at must match format "${format}"`) },
  });
});

test('a format whose check would hold everybody up is cut off as well', async () => {
  const slow = { type: 'object', properties: { at: { type: 'string', format: 'url' } } };
  const at = `http://${':'.repeat(400_000)}`;
  expect(await structuredAnswer(slow, '', { at })).toMatchObject({
    error: { message: expect.stringContaining('takes too long') },
  });
});

test('an unknown format is reported, and any value matches it', async () => {
  const strange = { type: 'object', properties: { a: { type: 'string', format: 'no-such-format' } } };
  const unknown: string[] = [];
  expect(await schemaFault(strange, name => unknown.push(name))).toBeNull();
  expect(new Set(unknown)).toEqual(new Set(['no-such-format']));
  expect(await structuredAnswer(strange, '', { a: 'b' })).toEqual({ value: { a: 'b' } });
});

describe('a schema is checked by the draft that it names', () => {
  const pair = [{ type: 'string' }, { type: 'number' }];
  const withPair = (named: object, keywords: object) => ({
    ...named,
    type: 'object',
    properties: { pair: { type: 'array', ...keywords } },
  });
  test.each([
    ['draft 6', { $schema: 'http://json-schema.org/draft-06/schema#' }, { items: pair }],
    ['draft 7', { $schema: 'http://json-schema.org/draft-07/schema#' }, { items: pair }],
    ['draft 7, by https', { $schema: 'https://json-schema.org/draft-07/schema' }, { items: pair }],
    ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, { items: pair }],
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema' }, { prefixItems: pair }],
    ['none', {}, { prefixItems: pair }],
  ])('%s', async (_, named, keywords) => {
    const dialect = withPair(named, keywords);
    expect(await schemaFault(dialect)).toBeNull();
    expect(await structuredAnswer(dialect, '', { pair: ['a', 1] })).toHaveProperty('value');
    expect(await structuredAnswer(dialect, '', { pair: [1, 'a'] })).toMatchObject({
      error: { message: expect.stringContaining('/pair/0 must be string; /pair/1 must be number') },
    });
  });

  const NEWEST = 'https://json-schema.org/draft/2020-12/schema';
  test.each(['http://x.example/s', 'http://json-schema.org/draft-04/schema#', 3, [NEWEST]])(
    'one that nobody knows is refused with those that are known: %s',
    async $schema => {
      const fault = await schemaFault({ $schema, type: 'object' });
      expect(fault).toContain(JSON.stringify($schema));
      for (const draft of ['2020-12', '2019-09', 'draft-07', 'draft-06']) expect(fault).toContain(draft);
    },
  );
});

test('each error in a schema is reported once', async () => {
  const twoWrong = { type: 'object', properties: { a: { items: [{}] }, b: { required: 'c' } } };
  expect(await schemaFault(twoWrong)).toBe(
    '/properties/a/items must be object,boolean; /properties/b/required must be array',
  );
});

test('a reference is followed whatever characters it has', async () => {
  const odd = { type: 'object', properties: { a: { $ref: '#/$defs/List<A>' } }, $defs: { 'List<A>': {} } };
  expect(await schemaFault(odd)).toBeNull();
});

test('an invalid schema is reported', async () => {
  expect(await schemaFault({ type: 'objekt' })).toContain('type');
  expect(await schemaFault(schema)).toBeNull();
});
