import { expect, test } from 'vitest';
import { likeSquad, startCommand } from './start-command.ts';

test('a task stays one argument, whatever is in it', () => {
  expect(startCommand([{ roleId: 'coder', task: "Don't $(rm)" }], '/my project')).toBe(
    `squad run coder 'Don'\\''t $(rm)' --workspace '/my project'`,
  );
});

test('each chosen value is an option, and nothing else is', () => {
  expect(
    startCommand([{ roleId: 'coder', task: 'Fix' }], '/p', {
      engine: 'claude',
      model: 'a b',
      permission: 'read',
      budgetUsd: 0.5,
      isolation: 'worktree',
      machine: 'gpu=yes',
    }),
  ).toBe(
    "squad run coder Fix --workspace /p --engine claude --model 'a b' --permission read --budget 0.5 --worktree --on gpu=yes",
  );
});

test('a squad is one command, with its name', () => {
  const members = [
    { roleId: 'coder', task: 'Fix it' },
    { roleId: 'tester', task: 'Break it' },
  ];
  expect(startCommand(members, '/p', {}, 'Night shift')).toBe(
    "squad run coder 'Fix it' tester 'Break it' --workspace /p --name 'Night shift'",
  );
});

test('a squad is composed again with the options that it was started with', () => {
  const members = [
    { roleId: 'coder', task: 'Fix it', engine: 'claude', model: 'large', budgetUsd: 2 },
    { roleId: null, task: 'Break it', engine: 'codex', model: 'large', budgetUsd: 2, isolation: 'none' },
  ] as const;
  expect(likeSquad({ name: null, workspace: '/p', members: [...members] })).toEqual({
    name: '',
    folder: '/p',
    members: [
      { roleId: 'coder', task: 'Fix it', engine: 'claude' },
      { roleId: '', task: 'Break it', engine: 'codex', isolation: 'none' },
    ],
    choices: { model: 'large', budgetUsd: 2 },
  });
});
