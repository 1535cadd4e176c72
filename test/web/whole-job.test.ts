import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script, scriptOf } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({
  coder: '---\ndescription: Writes the code\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ndescription: Reviews\ntype: review\n---\nYou review.',
});
const webUi = useWebUi(squad);

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const review = call('request_review', { completion_message: 'Please look', reviewer_prompt: script('hang') });
const ask = ['say Starting with it', 'ask "Which name?" short long'];
const TASK = `Write it${script(...ask, 'write name.ts', '| export const short = 1;', review)}${scriptOf(
  2,
  'write name.ts',
  '| export const short = 2;',
  review,
)}${scriptOf(3, 'report Written.')}`;

test('a job is composed, watched, answered, reviewed, sent back, approved and merged with keys alone', async () => {
  await startRun(squad, 'Be here', ['report done']);
  const page = await webUi.open('/');
  await page.evaluate(() => {
    for (const type of ['pointerdown', 'mousedown', 'touchstart'])
      addEventListener(type, () => console.error('A pointer was used'), true);
  });
  const keys = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  const statusOf = async (run: string) =>
    (await askHub<{ run: { status: string } }>(squad, 'show_run', { run })).run.status;
  const dialog = page.getByRole('dialog');
  await page.locator('.board > li').first().waitFor();

  await keys('N');
  await dialog.locator('.start-applies').waitFor();
  await page.keyboard.insertText(TASK);
  await keys('Control+Shift+Enter');
  await page.keyboard.insertText(`Help with it${script('report helped')}`);
  await keys('Control+Enter');
  await page.waitForURL(/\/s\/squad_/);
  const { runs } = await askHub<{ runs: { id: string; title: string }[] }>(squad, 'show_squad', {
    squad: new URL(page.url()).pathname.split('/')[2],
  });
  const run = runs.find(({ title }) => title === 'Write it')!.id;

  await page.locator('[role=treeitem]', { hasText: 'Write it' }).waitFor();
  await keys('g', 'r');
  await page.locator(`[data-run=${run}].need-needs_you`).waitFor();
  // The run that asks is the first.
  await keys('j', 'Enter');
  await page.waitForURL(`**/r/${run}`);
  const choice = page.locator('.open-question button[data-key="1"]:not([aria-disabled])');
  await choice.waitFor();
  await keys(']');
  await page.locator('.out-line', { hasText: 'Starting with it' }).waitFor();
  await keys('[');
  await choice.waitFor();
  await keys('1');
  await until('it waits for a review', async () => (await statusOf(run)) === 'waiting_review');

  await keys('g', 'v');
  await page.locator('.open-review').first().waitFor();
  await keys('Enter');
  await page.locator('.diff-row', { hasText: 'short = 1' }).waitFor();
  await keys('m');
  await page.keyboard.type('Make it two');
  await keys('Control+Enter');
  await page.locator('.diff-remark', { hasText: 'Make it two' }).waitFor();
  await page.locator('.decision-bar button:not([aria-disabled])', { hasText: 'Send back' }).waitFor();
  await keys('B');
  await dialog.getByLabel('Requested changes').waitFor();
  await page.keyboard.type('Two, please');
  await keys('Control+Enter');

  await page.locator('.diff-row', { hasText: 'short = 2' }).waitFor();
  await until('it waits for a review again', async () => (await statusOf(run)) === 'waiting_review');
  await page.locator('.decision-bar button:not([aria-disabled])', { hasText: 'Approve' }).waitFor();
  await keys('A');
  await dialog.getByRole('button', { name: 'Approve' }).waitFor();
  await keys('Control+Enter');
  await until('it is done', async () => (await statusOf(run)) === 'completed');

  await page.locator('.decision-bar button:not([aria-disabled])', { hasText: 'Merge' }).waitFor();
  await keys('i');
  await page.locator('.merge-actions button.main:not([aria-disabled])').waitFor();
  await keys('m');
  await dialog.getByRole('button', { name: /^Merge/ }).waitFor();
  await keys('Enter');
  await until('main has it', () => squad.git('ls-tree', 'main', 'name.ts') !== '');
  expect(squad.git('show', 'main:name.ts')).toContain('short = 2');
});
