import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { renderCommand } from './render.ts';
import { type TemplateValues, VARIABLES } from './variables.ts';

const shipped = (name: string) => readFile(new URL(`../../../templates/${name}`, import.meta.url), 'utf8');
const none = Object.fromEntries(VARIABLES.map(name => [name, ''])) as TemplateValues;

it('the shipped run template starts cursor-agent, with a model and a chat only when there is one', async () => {
  const template = await shipped('run-agent.template');
  const start = ['cursor-agent', '--approve-mcps', '--print'];
  expect(renderCommand(template, { ...none, prompt: 'Do it' }).argv).toEqual([...start, 'agent', 'Do it']);
  expect(renderCommand(template, { ...none, prompt: 'Do it', model: 'm', chatId: 'c' }).argv).toEqual([
    ...start,
    ...['--model', 'm', '--resume', 'c', 'agent', 'Do it'],
  ]);
});

it('the shipped create-chat template asks cursor-agent for a chat', async () => {
  expect(renderCommand(await shipped('create-chat.template'), none).argv).toEqual([
    'cursor-agent',
    'create-chat',
  ]);
});
