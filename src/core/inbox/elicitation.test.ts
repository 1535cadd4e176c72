import { describe, expect, test } from 'vitest';
import type { InboxItem } from '../../schema/inbox.ts';
import { elicited, formOf } from './elicitation.ts';

const asking = (properties: Record<string, unknown>, required: string[] = []) => ({
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties, required },
});

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
    { name: 'age', title: 'age', description: null, type: 'number', choices: [], isRequired: false },
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

test('one without fields asks for a yes', () => {
  expect(formOf(asking({}))).toEqual({ kind: 'approval', question: 'Who are you?', fields: [] });
  expect(formOf({ message: 'Go on?' })).toMatchObject({ kind: 'approval' });
});

describe('nobody is asked', () => {
  test.each([
    ['for a password', asking({ password: { type: 'string' } })],
    ['for a secret by another name', asking({ value: { type: 'string', title: 'Your API key' } })],
    [
      'for a token that only the description names',
      asking({ x: { type: 'string', description: 'A token' } }),
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

describe('the server is told', () => {
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
