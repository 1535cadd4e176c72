import { describe, expect, test } from 'vitest';
import type { InboxItem } from '../../schema/inbox.ts';
import { elicited, formOf } from './elicitation.ts';

const asking = (properties: Record<string, unknown>, required: string[] = []) => ({
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties, required },
});

const range = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);

test('a server’s form becomes fields a person can fill in', () => {
  const form = formOf(
    asking(
      {
        name: { type: 'string', title: 'Your name', description: 'As in the passport' },
        age: { type: 'integer', minimum: 0 },
        isNew: { type: 'boolean' },
        size: { type: 'string', enum: ['S', 'M'] },
        colour: {
          type: 'string',
          oneOf: [
            { const: 'r', title: 'Red' },
            { const: 'b', title: 'Blue' },
          ],
        },
        tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
        more: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
      },
      ['name'],
    ),
  );
  expect(form).toMatchObject({ kind: 'question', question: 'Who are you?' });
  expect(form?.fields).toEqual([
    {
      ...{ name: 'name', title: 'Your name', description: 'As in the passport' },
      ...{ type: 'text', choices: [], isRequired: true },
    },
    {
      ...{ name: 'age', title: 'age', description: null, type: 'number', choices: [], isRequired: false },
      ...{ isInteger: true, minimum: 0 },
    },
    { name: 'isNew', title: 'isNew', description: null, type: 'boolean', choices: [], isRequired: false },
    {
      name: 'size',
      title: 'size',
      description: null,
      type: 'choice',
      choices: ['S', 'M'],
      isRequired: false,
    },
    {
      name: 'colour',
      title: 'colour',
      description: null,
      type: 'choice',
      choices: ['r', 'b'],
      isRequired: false,
    },
    {
      name: 'tags',
      title: 'tags',
      description: null,
      type: 'choices',
      choices: ['a', 'b'],
      isRequired: false,
    },
    { name: 'more', title: 'more', description: null, type: 'choices', choices: ['x'], isRequired: false },
  ]);
});

test('a form without fields asks for a yes', () => {
  expect(formOf(asking({}))).toEqual({ kind: 'approval', question: 'Who are you?', fields: [] });
  expect(formOf({ message: 'Go on?' })).toMatchObject({ kind: 'approval' });
});

test('a word for a secret is no matter where nothing is typed', () => {
  expect(
    formOf({ ...asking({ keep: { type: 'boolean' } }), message: 'Keep the password file?' }),
  ).not.toBeNull();
  expect(formOf(asking({ max_tokens: { type: 'integer' } }))).not.toBeNull();
});

test('constraints of the schema are kept as far as they can be checked', () => {
  const limits = { minLength: 2, maxLength: 5, pattern: '^a', format: 'email' };
  expect(formOf(asking({ x: { type: 'string', ...limits } }))?.fields[0]).toMatchObject(limits);
  const odd = { minLength: -1, pattern: '(', format: 'toString', minimum: 1 };
  expect(formOf(asking({ x: { type: 'string', ...odd } }))?.fields[0]).toEqual({
    ...{ name: 'x', title: 'x', description: null, type: 'text', choices: [], isRequired: false },
  });
});

describe('no user to ask', () => {
  test.each([
    ['for a password', asking({ password: { type: 'string' } })],
    ['for a secret by another name', asking({ value: { type: 'string', title: 'Your API key' } })],
    [
      'for a token that only the description names',
      asking({ x: { type: 'string', description: 'A token' } }),
    ],
    [
      'for a secret that only the message names',
      { ...asking({ x: { type: 'string' } }), message: 'Your PIN?' },
    ],
    ['for one whose name is in another spelling', asking({ userAccessKey: { type: 'string' } })],
    ['for what is no text', asking({ 'a\0b': { type: 'string' } })],
    ['for half a character', asking({ x: { type: 'string', description: '\ud800' } })],
    ['by a name too long to show', asking({ ['x'.repeat(101)]: { type: 'string' } })],
    ['by a title too long to show', asking({ x: { type: 'string', title: 'x'.repeat(201) } })],
    ['by an essay', asking({ x: { type: 'string', description: 'x'.repeat(1_001) } })],
    ['to choose of too many', asking({ x: { type: 'string', enum: range(201) } })],
    ['to choose of what looks alike', asking({ x: { type: 'string', enum: ['a', 'a\n'] } })],
    ['by a choice too long to show', asking({ x: { type: 'string', enum: ['x'.repeat(201), 'b'] } })],
    ['for too much', asking(Object.fromEntries(range(51).map(name => [name, { type: 'string' }])))],
    [
      'for more than fits',
      asking(
        Object.fromEntries(
          range(50).map(name => [
            name,
            { type: 'string', enum: range(200).map(each => `${each}${'x'.repeat(50)}`) },
          ]),
        ),
      ),
    ],
    ['what is no simple value', asking({ x: { type: 'object' } })],
    ['for a list of anything', asking({ x: { type: 'array', items: { type: 'string' } } })],
    ['to open a link', { ...asking({}), mode: 'url', url: 'https://example.org' }],
    ['without a word', { message: ' ' }],
    ['by what is no message', { message: 7 }],
  ])('%s', (_, params) => {
    expect(formOf(params)).toBeNull();
  });
});

describe('the server gets', () => {
  const item = (more: Partial<InboxItem>) =>
    ({ state: 'answered', answer: null, fields: [], ...more }) as InboxItem;
  const fields = formOf(asking({ name: { type: 'string' } }))!.fields;

  test.each([
    [
      'what was filled in',
      item({ answer: '{"name":"Ada"}', fields }),
      { action: 'accept', content: { name: 'Ada' } },
    ],
    ['a yes', item({ answer: 'yes' }), { action: 'accept', content: {} }],
    ['a no', item({ answer: 'no' }), { action: 'decline' }],
    ['a no to a form', item({ answer: 'no', fields }), { action: 'decline' }],
    ['that nobody answered', item({ state: 'expired', answer: 'no' }), { action: 'cancel' }],
    ['that it came to nothing', item({ state: 'withdrawn' }), { action: 'cancel' }],
  ])('%s', (_, settled, told) => {
    expect(elicited(settled)).toEqual(told);
  });
});
