import { expect, test } from 'vitest';
import { startCommand } from './start-command.ts';

test('a task stays one argument, whatever is in it', () => {
  expect(startCommand('coder', "Don't $(rm)", '/my project')).toBe(
    `squad run coder 'Don'\\''t $(rm)' --workspace '/my project'`,
  );
});

test('what was chosen is an option each, and nothing else is', () => {
  expect(
    startCommand('coder', 'Fix', '/p', {
      engine: 'claude',
      model: 'a b',
      permission: 'read',
      budgetUsd: 0.5,
      isolation: 'worktree',
    }),
  ).toBe(
    "squad run coder Fix --workspace /p --engine claude --model 'a b' --permission read --budget 0.5 --worktree",
  );
});
