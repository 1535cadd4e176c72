import { describe, expect, test } from 'vitest';
import type { InboxItem } from '../../schema/inbox.ts';
import { clientForm, saidInForm } from './client-form.ts';
import { formOf } from './elicitation.ts';

const item = (more: Partial<InboxItem>) =>
  ({
    ...{ runId: 'run_0123456789', source: null, question: 'Which?', details: null, choices: [], fields: [] },
    ...more,
  }) as InboxItem;

describe('a client is shown', () => {
  test('one field for an answer in words, or the choices there are', () => {
    expect(clientForm(item({}))).toEqual({
      message: 'Agent run_0123456789 asks: Which?',
      requestedSchema: {
        type: 'object',
        properties: { answer: { title: 'Answer', type: 'string' } },
        required: ['answer'],
      },
    });
    const { requestedSchema } = clientForm(item({ choices: ['yes', 'no'] }));
    expect(requestedSchema.properties).toMatchObject({ answer: { type: 'string', enum: ['yes', 'no'] } });
  });

  test('what to know, and on whose behalf; nothing of it does anything to a terminal', () => {
    const { message } = clientForm(
      item({ source: 'desk', question: '\u001b[2J\u202eWhich?', details: 'a\nb' }),
    );
    expect(message).toBe('Agent run_0123456789 asks, for desk: ␛[2J�Which?\n\na\nb');
  });

  test('a server’s own form, as it would ask for it itself', () => {
    const properties = {
      name: { type: 'string', title: 'Name', description: 'In full' },
      age: { type: 'integer', title: 'age', minimum: 0 },
      isNew: { type: 'boolean', title: 'isNew' },
      size: { type: 'string', title: 'size', enum: ['S', 'M'] },
      tags: { type: 'array', title: 'tags', items: { type: 'string', enum: ['a', 'b'] } },
    };
    const schema = { type: 'object', properties, required: ['name'] };
    const { fields } = formOf({ message: 'Who?', requestedSchema: schema })!;
    expect(clientForm(item({ fields })).requestedSchema).toEqual(schema);
  });
});

test.each([
  ['words', item({}), { action: 'accept', content: { answer: 'this' } }, 'this'],
  ['no words', item({}), { action: 'accept', content: { answer: ' ' } }, null],
  ['nothing', item({}), { action: 'accept' }, null],
  ['a no', item({}), { action: 'decline' }, null],
  ['a closed window', item({}), { action: 'cancel' }, null],
  ['no answer at all', item({}), null, null],
  [
    'a form',
    item({
      fields: formOf({ message: 'x', requestedSchema: { properties: { a: { type: 'number' } } } })!.fields,
    }),
    { action: 'accept', content: { a: 1 } },
    '{"a":1}',
  ],
])('a person who gives %s', (_, asked, response, said) => {
  expect(saidInForm(asked, response)).toBe(said);
});
