import { describe, expect, test } from 'vitest';
import type { InboxField } from '../../schema/inbox.ts';
import { answerText } from './answer.ts';

const words = { kind: 'question' as const, choices: [], fields: [] };
const approval = { kind: 'approval' as const, choices: ['yes', 'no'], fields: [] };
const choices = { ...words, choices: ['SQLite', 'postgres', '1'] };
const field = (name: string, more: Partial<InboxField>): InboxField => ({
  ...{ name, title: name, description: null, type: 'text', choices: [], isRequired: true },
  ...more,
});
const form = {
  ...words,
  fields: [
    field('name', {}),
    field('age', { type: 'number', isRequired: false }),
    field('is_new', { type: 'boolean', isRequired: false }),
    field('size', { type: 'choice', choices: ['S', 'M'], isRequired: false }),
    field('tags', { type: 'choices', choices: ['a', 'b', 'c'], isRequired: false }),
  ],
};

const isNew = { ...words, fields: [field('is_new', { type: 'boolean' })] };
const limited = {
  ...words,
  fields: [
    field('count', { type: 'number', isInteger: true, minimum: 1, maximum: 5, isRequired: false }),
    field('mail', { format: 'email', isRequired: false }),
    field('day', { format: 'date', isRequired: false }),
    field('code', { minLength: 2, maxLength: 3, pattern: '^[a-z]', isRequired: false }),
  ],
};

test.each<[string, Parameters<typeof answerText>[0], string, string]>([
  ['words as they are', words, '  Do it,\nbut later ', 'Do it,\nbut later'],
  ['a choice however it is written', choices, ' sqlite', 'SQLite'],
  ['a choice by its number', choices, '2', 'postgres'],
  ['a choice that is a number itself', choices, '1', '1'],
  ...['yes', 'Y', 'ok', 'allow', 'true', '1'].map(
    said => ['leave', approval, said, 'yes'] as [string, typeof approval, string, string],
  ),
  ...['no', 'N', 'deny', 'false', '2'].map(
    said => ['no leave', approval, said, 'no'] as [string, typeof approval, string, string],
  ),
  ['leave for the whole run', { ...approval, choices: ['yes', 'no', 'always'] }, 'Always', 'always'],
  ['no leave, with a reason', approval, ' No: use pnpm,\nyes really ', 'no: use pnpm,\nyes really'],
  ['no leave, with a reason after a comma', approval, 'no, use pnpm', 'no: use pnpm'],
  ['a form', form, '{"name": "Ada", "age": 36}', '{"name":"Ada","age":36}'],
  [
    'a form filled in by hand',
    form,
    '{"name": "Ada", "age": " 36 ", "is_new": "yes", "size": "M", "tags": "a, c"}',
    '{"name":"Ada","age":36,"is_new":true,"size":"M","tags":["a","c"]}',
  ],
  ['a form left empty where it may be', form, '{"name": "Ada", "age": "", "size": null}', '{"name":"Ada"}'],
  ['a form nobody wants to fill in', form, 'no', 'no'],
  ['a form nobody wants to fill in, in so many words', form, ' Decline', 'no'],
  ['a no to one yes or no', isNew, 'no', '{"is_new":false}'],
  ['the same declined', isNew, 'decline', 'no'],
  [
    'a no that is one of the choices',
    { ...words, fields: [field('x', { type: 'choice', choices: ['no', 'yes'] })] },
    'no',
    '{"x":"no"}',
  ],
  [
    'a no that is none of the choices',
    { ...words, fields: [field('x', { type: 'choice', choices: ['a', 'b'] })] },
    'no',
    'no',
  ],
  ['a yes or no left open', form, '{"name": "Ada", "is_new": ""}', '{"name":"Ada"}'],
  [
    'values within their limits',
    limited,
    '{"count": 3, "mail": "ada@example.org", "code": "ab1"}',
    '{"count":3,"mail":"ada@example.org","code":"ab1"}',
  ],
  [
    'a pattern that cannot be checked in time',
    { ...words, fields: [field('x', { pattern: '^(a+)+$' })] },
    `${'a'.repeat(60)}!`,
    `{"x":"${'a'.repeat(60)}!"}`,
  ],
  [
    'a form with one field, without braces',
    { ...words, fields: [field('name', {})] },
    'Ada',
    '{"name":"Ada"}',
  ],
])('%s', (_, item, said, taken) => {
  expect(answerText(item, said)).toBe(taken);
});

describe('a text that is no answer gets an example of one', () => {
  test.each([
    ['nothing', words, ' \n', 'Answer with text.'],
    ['neither yes nor no', approval, 'perhaps', 'Answer yes, no, or "no: REASON".'],
    ['a word that begins with no', approval, 'none', 'Answer yes, no, or "no: REASON".'],
    ['a yes with more', approval, 'yes: but', 'Answer yes, no, or "no: REASON".'],
    ['none of the choices', choices, '4', '1 SQLite, 2 postgres, 3 1'],
    ['no number of a choice', choices, '0', '2 postgres'],
    ['a form without what it needs', form, '{"age": 3}', '"name" (text)'],
    ['a form with a field too many', form, '{"name": "x", "sudo": true}', 'The fields are "name"'],
    ['a number that is none', form, '{"name": "x", "age": "old"}', '"age" (number, may be left out)'],
    ['a choice of a form that is none', form, '{"name": "x", "size": "XL"}', '"size" (choice of "S", "M"'],
    ['a form’s choices that are not all there', form, '{"name": "x", "tags": ["a", "z"]}', '"tags"'],
    ['words for a form', form, 'Ada, 36', 'JSON object'],
  ])('%s', (_, item, said, way) => {
    expect(() => answerText(item, said)).toThrow(
      expect.objectContaining({ code: 'ANSWER_INVALID', suggestions: [expect.stringContaining(way)] }),
    );
  });

  test.each([
    ['{"count": 1.5}', '"count" must be a whole number'],
    ['{"count": 0}', '"count" must be at least 1'],
    ['{"count": 6}', '"count" must be at most 5'],
    ['{"mail": "ada"}', '"mail" must be of format email'],
    ['{"day": "2026-13-01"}', '"day" must be of format date'],
    ['{"code": "a"}', '"code" must have at least 2 characters'],
    ['{"code": "abcd"}', '"code" must have at most 3 characters'],
    ['{"code": "1a"}', '"code" must match ^[a-z]'],
  ])('outside what the server wants: %s', (said, why) => {
    expect(() => answerText(limited, said)).toThrow(
      expect.objectContaining({ code: 'ANSWER_INVALID', message: why }),
    );
  });

  test('half a character inside JSON', () => {
    expect(() => answerText(form, '{"name": "\\ud800"}')).toThrow(
      expect.objectContaining({ code: 'INVALID_TEXT' }),
    );
  });

  test('too much of it', () => {
    expect(() => answerText(words, 'x'.repeat(64_001))).toThrow(
      expect.objectContaining({ code: 'ANSWER_INVALID' }),
    );
  });

  test('values that no program can be given', () => {
    expect(() => answerText(words, 'a\0b')).toThrow(expect.objectContaining({ code: 'INVALID_TEXT' }));
  });

  test('names that every object has are no fields', () => {
    expect(() => answerText(form, '{"name": "x", "__proto__": {"a": 1}}')).toThrow('There is no field');
    expect(() => answerText(form, '{"name": "x", "constructor": 1}')).toThrow('There is no field');
  });
});
