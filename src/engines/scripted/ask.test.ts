import { expect, test } from 'vitest';
import { questionIn } from './ask.ts';

test.each([
  ['Which database?', { question: 'Which database?' }],
  ['"Which database?"', { question: 'Which database?' }],
  [
    '"Which database?" sqlite "one of ours" 3',
    { question: 'Which database?', choices: ['sqlite', 'one of ours', '3'] },
  ],
])('%s', (words, asked) => {
  expect(questionIn(words)).toEqual(asked);
});
