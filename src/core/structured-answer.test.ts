import { expect, test } from 'vitest';
import { schemaFault } from './json-schema.ts';
import { structuredAnswer } from './structured-answer.ts';

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
])('what cannot be checked is no match: %s', async (_, endless, answer) => {
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

test('what is no schema is told', async () => {
  expect(await schemaFault({ type: 'objekt' })).toContain('type');
  expect(await schemaFault(schema)).toBeNull();
});
