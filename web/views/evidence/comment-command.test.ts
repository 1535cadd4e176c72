import { expect, test } from 'vitest';
import { commentCommand } from './comment-command.ts';

const comment = { path: 'src/a b.ts', line: 3, side: 'new' as const, quote: 'x', text: "It's wrong" };

test('the command has every comment as one word, and the words before them when there are some', () => {
  expect(commentCommand('run_1', [comment])).toBe("squad comment run_1 'src/a b.ts:3' 'It'\\''s wrong'");
  expect(commentCommand('run_1', [comment], ' Nearly ')).toBe(
    "squad comment run_1 -m Nearly 'src/a b.ts:3' 'It'\\''s wrong'",
  );
});
