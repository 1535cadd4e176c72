import { expect, test } from 'vitest';
import { startCommand } from './start-command.ts';

test('a task stays one argument, whatever is in it', () => {
  expect(startCommand('coder', "Don't $(rm)", '/my project')).toBe(
    `squad run coder 'Don'\\''t $(rm)' --workspace '/my project'`,
  );
});
