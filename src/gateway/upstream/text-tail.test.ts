import { expect, test } from 'vitest';
import { createTextTail } from './connect.ts';

test('the last lines are kept, whole, as many as there is room for', () => {
  const tail = createTextTail(10);
  for (const line of ['first', 'abc', 'def', 'gh']) tail.add(line);
  expect(tail.text()).toBe('abc\ndef\ngh');
});

test('of a line that is too long the end is kept', () => {
  const tail = createTextTail(4);
  tail.add('before');
  tail.add('123456');
  expect(tail.text()).toBe('3456');
});

test('a great many lines leave no more than a few', () => {
  const tail = createTextTail(20);
  for (let i = 0; i < 5000; i++) tail.add(`line ${i}`);
  expect(tail.text()).toBe('line 4998\nline 4999');
});
