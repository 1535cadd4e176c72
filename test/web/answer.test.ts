import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { ShownItem } from '../../src/operations/inbox/inbox.ts';
import { askHub } from '../support/ask-hub.ts';
import { RunningAgent } from '../support/running-agent.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
const SERVER = join(import.meta.dirname, '..', 'servers', 'asking.ts');

beforeAll(async () => {
  squad.write(
    '.squad/mcp-config.json',
    JSON.stringify({
      servers: {
        desk: { command: process.execPath, args: [SERVER], tools: ['*'], instance: 'per-agent' },
      },
      agentServers: { coder: ['desk'] },
    }),
  );
  await squad.run(['trust', '-y', '.squad/mcp-config.json']);
});

const itemOf = async (run: string) =>
  (await askHub<{ items: ShownItem[] }>(squad, 'list_inbox', { state: 'all' })).items.find(
    ({ runId }) => runId === run,
  );
const asked = (run: string) => until('it asks', () => itemOf(run));
const answerOf = async (run: string) => {
  await squad.run(['wait', run]);
  return (await askHub<{ result: { result: string } }>(squad, 'show_run', { run })).result.result;
};
const approval = (question: string) => `call ask_user ${JSON.stringify({ question, kind: 'approval' })}`;

test('a question is answered in the list of runs; the agent continues with the answer, and the run shows who answered', {
  tags: ['F4'],
}, async () => {
  const run = await startRun(squad, 'Choose', ['ask "Which database?" sqlite postgres']);
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${run}]`);
  await row.getByText('needs you').waitFor();
  await row.getByText('Which database?').waitFor();
  await row.getByRole('button', { name: 'postgres' }).click();
  await row.getByText('done', { exact: true }).waitFor();
  expect(await answerOf(run)).toContain('postgres');
  expect(await itemOf(run)).toMatchObject({
    ...{ state: 'answered', answer: 'postgres' },
    answeredBy: { who: 'user', via: 'page' },
  });
  expect((await squad.run(['inbox', '--all'])).stdout).toMatch(/postgres.*page/s);
});

test('a question is declined, with choices or without, and the agent reads that', async () => {
  const run = await startRun(squad, 'Choose', [
    'ask "Which colour?" red green',
    'ask "What name?"',
    'say done',
  ]);
  const page = await webUi.open('/inbox');
  for (const question of ['Which colour?', 'What name?'])
    await page.locator('.ask', { hasText: question }).getByRole('button', { name: 'decline' }).click();
  expect(await answerOf(run)).toContain('(declined)\nThe answer is: (declined)');
  await page.locator('.toast', { hasText: 'Declined' }).first().waitFor();
});

test('an agent that asks twice needs somebody once, in every place that counts', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await agent.overHttp(true);
  const ask = (question: string) =>
    client.callTool({ name: 'ask_user', arguments: { question } }, { timeout: 60_000 });
  const answers = ['The first thing?', 'The second thing?'].map(ask);
  const items = await until('both are asked', async () => {
    const { items } = await askHub<{ items: ShownItem[] }>(squad, 'list_inbox', { run: agent.id });
    return items.length === 2 && items;
  });
  const page = await webUi.open('/');
  await page.locator('.chips').getByRole('link', { name: 'needs you 1', exact: true }).waitFor();
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Inbox 1' }).waitFor();
  await expect.poll(() => page.title()).toBe('(1) Runs · Squad');
  for (const { id } of items) await squad.run(['answer', id, 'that']);
  await Promise.all(answers);
  await expect.poll(() => page.title()).toBe('Runs · Squad');
});

test('text between backticks is shown as code', async () => {
  const run = await startRun(squad, 'Check it', ['ask How is it checked?']);
  const page = await webUi.open('/inbox');
  const item = page.locator('.ask', { hasText: 'How is it checked?' });
  await item.getByLabel('Your answer').fill('with `npm test`');
  await item.getByRole('button', { name: 'send' }).click();
  const told = page.locator('.toast', { hasText: 'Answered: with' });
  expect(await told.locator('code').innerText()).toBe('npm test');
  expect(await told.innerText()).not.toContain('`');
  expect(await answerOf(run)).toContain('with `npm test`');
});

test('a question that arrives while the web UI is open appears by itself and can be answered with text', async () => {
  const page = await webUi.open('/inbox');
  await page.getByText('Nothing is waiting for you').waitFor();
  const run = await startRun(squad, 'Name it', ['ask What is its name?']);
  const item = page.locator('.ask', { hasText: 'What is its name?' });
  await item.getByLabel('Your answer').fill('Ada, "the first"');
  await expect.poll(() => page.title()).toBe('(1) Inbox · Squad');
  await item.getByRole('button', { name: 'send' }).click();
  await page.locator('.settled li', { hasText: 'Ada, "the first" · you, in the web UI' }).waitFor();
  expect(await answerOf(run)).toContain('Ada, "the first"');
});

test('an approval is given and denied by a key', async () => {
  const [yes, no] = [
    await startRun(squad, 'Allow', [approval('Delete the cache?')]),
    await startRun(squad, 'Deny', [approval('Delete the database?')]),
  ];
  await Promise.all([asked(yes), asked(no)]);
  const page = await webUi.open('/inbox');
  for (const [run, question, key] of [
    [yes, 'Delete the cache?', 'y'],
    [no, 'Delete the database?', 'n'],
  ] as const) {
    const item = page.locator('.ask', { hasText: question });
    await item.waitFor();
    // The nearest deadline is first, whichever of the two that is.
    for (let step = 0; step < 3 && !(await item.evaluate(one => one === document.activeElement)); step++)
      await page.keyboard.press(step === 0 ? 'k' : 'j');
    // One that came just now takes no answer yet.
    await item.getByRole('button', { name: 'allow' }).click({ trial: true });
    await page.keyboard.press(key);
    await expect.poll(async () => (await itemOf(run))?.state).toBe('answered');
  }
  expect(await itemOf(yes)).toMatchObject({ answer: 'yes', answeredBy: { via: 'page' } });
  expect(await itemOf(no)).toMatchObject({ answer: 'no', answeredBy: { via: 'page' } });
});

test('a form of a server is filled in, and the server has its values typed', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const client = await agent.overHttp(true);
  await until('its tools are there', async () =>
    (await client.listTools()).tools.some(({ name }) => name === 'desk__register'),
  );
  const answer = client.callTool({ name: 'desk__register', arguments: {} }, { timeout: 60_000 });
  const page = await webUi.open('/inbox');
  const form = page.locator('.ask', { hasText: 'Who is it for?' });
  await form.getByText('via desk').waitFor();
  await form.getByRole('button', { name: 'send' }).click();
  // The browser holds it: the name is needed.
  expect(await form.getByLabel(/^Name/).evaluate(box => (box as HTMLInputElement).validity.valid)).toBe(
    false,
  );
  await form.getByLabel(/^Name/).fill('Ada <b>');
  await form.getByLabel(/^size/).selectOption('M');
  await form.getByLabel(/^copies/).fill('2');
  await form.getByRole('button', { name: 'send' }).click();
  const [block] = (await answer).content as { text: string }[];
  expect(JSON.parse(block!.text)).toEqual({
    action: 'accept',
    content: { name: 'Ada <b>', size: 'M', copies: 2 },
  });
});

test('the second to answer sees what was answered', async () => {
  const run = await startRun(squad, 'Twice', ['ask "Left or right?" left right']);
  await asked(run);
  const page = await webUi.open(`/r/${run}`);
  const choice = page.locator('.open-question').getByRole('button', { name: 'left' });
  await choice.waitFor();
  webUi.expectErrors(/409|ERR_FAILED/);
  // The web UI learns of it only after it has sent its own answer.
  await page.route('**/api/**', async route => {
    if (route.request().method() === 'POST')
      await askHub(squad, 'answer_question', { item: (await asked(run)).id, answer: 'right' });
    await route.continue();
  });
  await choice.click();
  await page.locator('.toast', { hasText: /right/ }).waitFor();
  expect(await itemOf(run)).toMatchObject({ answer: 'right' });
});
