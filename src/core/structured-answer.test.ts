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

test('what is no schema is told', async () => {
  expect(await schemaFault({ type: 'objekt' })).toContain('type');
  expect(await schemaFault(schema)).toBeNull();
});
