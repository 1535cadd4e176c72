import { expect, it } from 'vitest';
import { commentsText } from './review-input.ts';

it('has each comment at its place, with the line it is about set apart from what is asked', () => {
  const text = commentsText(
    [
      {
        path: 'src/a.ts',
        line: 12,
        side: 'new',
        quote: 'const a = 1;\nlet b;',
        text: ' Call it by its name. ',
      },
      { path: 'src/b.ts', line: 3, side: 'old', text: 'Why did this go?' },
    ],
    undefined,
  );
  expect(text).toBe(
    [
      '2 comments on your changes. Please address each.',
      '',
      'src/a.ts:12',
      '> const a = 1;',
      '> let b;',
      'Call it by its name.',
      '',
      'src/b.ts:3 (as it was before your changes)',
      'Why did this go?',
    ].join('\n'),
  );
});

it('begins with the words of whoever comments, where there are any', () => {
  const one = { path: 'a', line: 1, side: 'new', text: 'x' } as const;
  expect(commentsText([one], 'Nearly there.')).toBe('Nearly there.\n\na:1\nx');
  expect(commentsText([one], '  ')).toBe('A comment on your changes. Please address it.\n\na:1\nx');
});
