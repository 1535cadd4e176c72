import { describe, expect, test } from 'vitest';
import { HIDDEN_CASES } from '../../../test/support/hidden-characters.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { clientForm, formReply } from './client-form.ts';
import { formOf } from './elicitation.ts';

const ASKER = {
  roleId: 'coder',
  title: null,
  task: 'Fix the login\nand more',
  engine: 'claude',
  options: { subagent: null },
} as Run;

const item = (more: Partial<InboxItem>) =>
  ({
    ...{ runId: 'run_0123456789', source: null, question: 'Which?', details: null, choices: [], fields: [] },
    ...more,
  }) as InboxItem;

describe('a client is shown', () => {
  test('one text field for an answer, or the choices of the question', () => {
    expect(clientForm(item({}), ASKER)).toEqual({
      message: 'coder asks: Which?\n\nIts task: Fix the login',
      requestedSchema: {
        type: 'object',
        properties: { answer: { title: 'Answer', type: 'string' } },
        required: ['answer'],
      },
    });
    const { requestedSchema } = clientForm(item({ choices: ['yes', 'no'] }), ASKER);
    expect(requestedSchema.properties).toMatchObject({ answer: { type: 'string', enum: ['yes', 'no'] } });
  });

  test('the question and whose agent asks it; control characters in it have no effect', () => {
    const { message } = clientForm(
      item({ source: 'desk', question: '\u001b[2J\u202eWhich?', details: 'a\nb' }),
      { ...ASKER, task: '\u001b[2JFix it' },
    );
    expect(message).toBe(
      'coder, for desk, asks: ␛[2J<U+202E>Which?\n\na\nb\n\nIts task: ␛[2JFix it\n\n' +
        'Warning: This form has 3 hidden characters, shown by picture or code: 2 terminal control (2 × U+001B ESC), 1 reading direction (1 × U+202E RLO)',
    );
    expect(clientForm(item({}), null).message).toBe('An agent asks: Which?');
  });

  test.each(HIDDEN_CASES)(
    '$name in a question, a choice and a field',
    { tags: ['terminal-escapes'] },
    ({ text, shown }) => {
      const choices = [`one${text}`, 'two'];
      const form = clientForm(item({ question: `Q${text}?`, details: `D${text}.`, choices }), null);
      expect(form.message).toContain(`Q${shown}?\n\nD${shown}.\n\nWarning: This form has `);
      // The answer is compared with the choice itself; the client shows the name.
      expect(form.requestedSchema.properties).toMatchObject({
        answer: { enum: choices, enumNames: [`one${shown}`, 'two'] },
      });
      const field = { name: 'n', title: `T${text}.`, description: `E${text}.`, type: 'text' as const };
      const own = clientForm(item({ fields: [{ ...field, choices: [], isRequired: true }] }), null);
      expect(own.requestedSchema.properties).toMatchObject({
        n: { title: `T${shown}.`, description: `E${shown}.` },
      });
      expect(own.message).toContain('Warning: This form has ');
    },
  );

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
    expect(clientForm(item({ fields }), ASKER).requestedSchema).toEqual(schema);
  });
});

test.each([
  ['words', item({}), { action: 'accept', content: { answer: 'this' } }, { answer: 'this' }],
  ['no words', item({}), { action: 'accept', content: { answer: ' ' } }, null],
  ['nothing', item({}), { action: 'accept' }, null],
  ['a no', item({}), { action: 'decline' }, 'declined'],
  ['a closed window', item({}), { action: 'cancel' }, null],
  ['no answer at all', item({}), null, null],
  [
    'a form',
    item({
      fields: formOf({ message: 'x', requestedSchema: { properties: { a: { type: 'number' } } } })!.fields,
    }),
    { action: 'accept', content: { a: 1 } },
    { answer: '{"a":1}' },
  ],
])('a person who gives %s', (_, asked, response, said) => {
  expect(formReply(asked, response)).toEqual(said);
});
