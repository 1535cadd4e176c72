import { expect, it } from 'vitest';
import type { Run } from '../../schema/run.ts';
import { buildPrompt } from '../roles/prompt.ts';
import { prepareNextTurn } from './waiting-run.ts';

const FOOTER = buildPrompt({ roleBody: '', task: '', mode: 'continued' }).slice('# Task\n'.length);

const written = async (run: object, first: string | null) => {
  const prepared: string[] = [];
  await prepareNextTurn(run as Run, 'Fix the tests.', {
    read: async () => first,
    prepare: async (_turn, prompt) => {
      prepared.push(prompt);
      return { promptFile: '/prompt.md' };
    },
    environment: async () => ({}),
  });
  return prepared[0];
};

it('repeats the first prompt for an engine without chats, and the footer closes it', {
  tags: ['A5'],
}, async () => {
  const run = { id: 'run_0123456789', turn: 1, chatId: null, task: 'Build search' };
  const first = buildPrompt({ roleBody: 'You build UIs.', task: run.task, mode: 'stateless' });
  expect(await written(run, first)).toBe(
    `You build UIs.\n\n---\n\n# Task\nBuild search\n\n---\n\nFix the tests.${FOOTER}`,
  );
  expect(await written(run, null)).toBe(`Build search\n\n---\n\nFix the tests.${FOOTER}`);
});

it('sends only the new text to a chat, and the footer closes it', async () => {
  const run = { id: 'run_0123456789', turn: 1, chatId: 'c', task: 'Build search' };
  expect(await written(run, null)).toBe(`# Task\nFix the tests.${FOOTER}`);
});
