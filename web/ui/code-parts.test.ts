import { expect, test } from 'vitest';
import { codeParts } from './code-parts.ts';

test('text between backticks is separated from the text around it', () => {
  expect(codeParts('`squad show run_1` has it. See `squad log`.')).toEqual([
    { text: 'squad show run_1', isCode: true },
    { text: ' has it. See ', isCode: false },
    { text: 'squad log', isCode: true },
    { text: '.', isCode: false },
  ]);
});

test('words without any, and a backtick alone, stay as they are', () => {
  expect(codeParts('Answered: yes')).toEqual([{ text: 'Answered: yes', isCode: false }]);
  expect(codeParts('a ` b')).toEqual([{ text: 'a ` b', isCode: false }]);
  expect(codeParts('')).toEqual([]);
});
