import { expect, test } from 'vitest';
import { createCappedText, cutText } from './code-runner.ts';

test('short text is unchanged', () => {
  expect(cutText('🙂🙂', 4)).toBe('🙂🙂');
});

test('a cut never splits a character', () => {
  expect(cutText('🙂🙂', 3)).toBe('🙂\ufffd\n[1 more characters left out]');
  const capped = createCappedText(3);
  for (let time = 0; time < 3; time++) capped.add('🙂');
  expect(capped.text()).toBe('🙂\ufffd\n[3 more characters left out]');
});
