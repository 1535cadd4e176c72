import { expect, test } from 'vitest';
import type { InboxField } from '../../../src/schema/inbox.ts';
import { formAnswer } from './form-answer.ts';

const field = (name: string, type: InboxField['type']): InboxField => ({
  name,
  type,
  title: name,
  description: null,
  choices: [],
  isRequired: false,
});

test('each field has its own kind of value, and what was left empty is left out', () => {
  const data = new FormData();
  data.set('count', '3');
  data.set('note', '');
  data.append('tags', 'a');
  data.append('tags', 'b');
  const fields = [field('count', 'number'), field('note', 'text'), field('tags', 'choices')];
  expect(JSON.parse(formAnswer(fields, data))).toEqual({ count: 3, tags: ['a', 'b'] });
});

test('a yes or no is said, or left out: nothing chosen is not a no', () => {
  const data = new FormData();
  data.set('sure', 'yes');
  data.set('public', 'no');
  data.set('urgent', '');
  const fields = ['sure', 'public', 'urgent'].map(name => field(name, 'boolean'));
  expect(JSON.parse(formAnswer(fields, data))).toEqual({ sure: true, public: false });
});
