import { beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
const HOSTILE = '<img src=x onerror="document.title=1">';
let talks: string;
let named: string;

beforeAll(async () => {
  squad.write(
    '.squad/decisions.md',
    '### 2026-02-01: Sessions live in Redis\n**What:** Not in the database.\n',
  );
  // Not in the task, which is searched too.
  squad.write('words.txt', `one\ntwo\nredis ${HOSTILE}\n`);
  talks = await startRun(squad, 'Talk', ['run cat words.txt']);
  named = await startRun(squad, 'Redis for sessions', ['report done']);
  await squad.run(['wait', talks, named]);
});

test('words typed into the palette are searched for everywhere, and lead to each place', async () => {
  const page = await webUi.open('/');
  await page.keyboard.press('Control+k');
  await page.locator('dialog[open] [role=combobox]').fill('redis');
  // Not with the mouse: runs and actions that are found meanwhile move the entry.
  await page.getByRole('option', { name: 'Search everything for redis' }).dispatchEvent('click');
  await page.waitForURL(`${webUi.origin}/search?q=redis`);
  await page.getByText('1 run · 1 decision · output of 1 run').waitFor();
  await page.getByText('Searched the output of the newest 2 runs').waitFor();
  expect(await page.locator('mark').allInnerTexts()).toEqual(expect.arrayContaining(['Redis', 'redis']));
  await page.locator('.search-lines').getByText(HOSTILE).waitFor();
  await page.locator('.search-lines a').first().click();
  await page.waitForURL(new RegExp(`/r/${talks}/output\\?turn=1#L\\d+$`));
  await page.locator('.out-line', { hasText: 'redis' }).first().waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Redis for sessions' }).click();
  await page.waitForURL(new RegExp(`/r/${named}`));
});

test('the box searches as the user types; an empty result says so, and what was searched', async () => {
  const page = await webUi.open('/search');
  await page.getByText('Search everything').waitFor();
  await page.getByLabel('Search tasks, decisions and output').fill('zebra crossing');
  await page.getByText('No matches.').waitFor();
  expect(page.url()).toContain('q=zebra+crossing');
  await page.getByText('Searched the output of the newest 2 runs').waitFor();
});
