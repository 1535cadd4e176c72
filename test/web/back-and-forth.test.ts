import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { LiveMessage } from '../../src/schema/live.ts';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script, userGit } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: `---\ntype: review\n---\nYou review.${script('say looking at it', 'hang')}`,
  plain: 'You work.',
});
const webUi = useWebUi(squad);
const ask = `call request_review ${JSON.stringify({ completion_message: 'It is there.' })}`;
const focusedRun = (page: Page) =>
  page.evaluate(() => document.activeElement?.closest<HTMLElement>('[data-run]')?.dataset.run ?? null);

test('an open run shows a reviewer as soon as there is one, and words to send it back outlive the dialog', async () => {
  // The agent looks at a file of the test.
  await squad.set('sandbox.default', 'off');
  const start = join(squad.root, 'go on');
  const run = await startRun(squad, 'Add a retry', [
    `run while [ ! -e '${start}' ]; do sleep 0.1; done`,
    ...['write retry.ts', '| export const times = 1;', ask],
  ]);
  const page = await webUi.blank();
  // A run that starts at once may never be reported as queued.
  await page.routeWebSocket(/api\/live/, line => {
    const hub = line.connectToServer();
    hub.onMessage(text => {
      const message = JSON.parse(String(text)) as LiveMessage;
      if (message.type === 'changes') message.runs = message.runs.filter(({ status }) => status !== 'queued');
      line.send(JSON.stringify(message));
    });
  });
  await webUi.enter(page, `/r/${run}`);
  await page.locator('.run-kin', { hasText: 'squad' }).waitFor();
  // Only what comes by itself: the answers so far are without it.
  await page.waitForLoadState('networkidle');
  mkdirSync(start);
  await page.locator('.run-children li', { hasText: 'reviewer' }).waitFor();

  const open = async () => {
    await page.getByRole('button', { name: /^Send back/ }).click();
    return page.getByRole('dialog').getByLabel('Requested changes');
  };
  await (await open()).fill('Three times, ple');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await (await open()).inputValue()).toBe('Three times, ple');
  await page.keyboard.press('Escape');
  await page.goto(`${webUi.origin}/reviews`);
  await expect.poll(() => page.title()).toBe('Reviews · Squad');
  await page.getByRole('button', { name: 'Send back' }).click();
  const box = page.getByRole('dialog').getByLabel('Requested changes');
  expect(await box.inputValue()).toBe('Three times, ple');
});

test('esc leads from a run back to its row, and each view has its title', async () => {
  const [first, second] = [
    await startRun(squad, 'First of two', ['report done'], { role: 'plain' }),
    await startRun(squad, 'Second of two', ['report done'], { role: 'plain' }),
  ];
  await squad.run(['wait', first, second]);
  const page = await webUi.open('/?q=of two');
  await page.locator(`[data-run=${first}]`).waitFor();
  expect(await page.title()).toBe('Runs · Squad');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await focusedRun(page)).toBe(first);
  await page.keyboard.press('Enter');
  await page.locator('h1', { hasText: 'First of two' }).waitFor();
  await expect.poll(() => page.title()).toBe('First of two · Squad');
  await page.keyboard.press(']');
  await page.waitForURL(/output$/);
  await page.keyboard.press('Escape');
  await expect.poll(() => focusedRun(page)).toBe(first);
  expect(await page.title()).toBe('Runs · Squad');
  await page.keyboard.press('k');
  expect(await focusedRun(page)).toBe(second);
  const { squadId } = (await askHub<{ run: { squadId: string } }>(squad, 'show_run', { run: first })).run;
  await page.goto(`${webUi.origin}/s/${squadId}`);
  await expect.poll(() => page.title()).toBe('First of two · Squad');
});

test('a task and an answer that are not sent are there again after a reload, and gone once they are sent', async () => {
  const run = await startRun(squad, 'Name it', ['ask What is its name?'], { role: 'plain' });
  const page = await webUi.open('/inbox');
  const answer = page.locator('.ask', { hasText: 'What is its name?' }).getByLabel('Your answer');
  await answer.fill('Ada');
  await page.getByRole('link', { name: 'Cost' }).first().click();
  await page.getByRole('heading', { name: 'Cost' }).waitFor();
  const task = page.getByRole('dialog', { name: 'Start a run' }).getByLabel('Task');
  await page.keyboard.press('N');
  await task.fill('Half a ta');
  await page.keyboard.press('Escape');
  await task.waitFor({ state: 'detached' });
  await page.keyboard.press('N');
  expect(await task.inputValue()).toBe('Half a ta');
  await page.keyboard.press('Escape');
  await page.goto(`${webUi.origin}/inbox`);
  expect(await answer.inputValue()).toBe('Ada');
  await page.goto(webUi.origin);
  const row = page.locator(`[data-run=${run}]`);
  const inRow = row.getByLabel('Answer: What is its name?');
  expect(await inRow.inputValue()).toBe('Ada');
  // A new question cannot be answered for a moment.
  await row.locator('button:not([aria-disabled])', { hasText: 'send' }).waitFor();
  await inRow.press('Enter');
  await squad.run(['wait', run]);
  await expect.poll(() => page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('Ada');
});

describe('several workspaces', () => {
  const fresh = join(squad.root, 'fresh');

  beforeAll(() => {
    mkdirSync(join(fresh, 'deep'), { recursive: true });
    userGit(fresh, squad.env, 'init', '-q', '-b', 'main');
  });

  test('the web UI opens at a repository without Squad files, and a run can be started there', async () => {
    for (const cwd of [fresh, join(fresh, 'deep')]) {
      const { stdout } = await squad.run(['open', '--no-browser'], { cwd });
      expect(new URL(stdout.trim()).searchParams.get('w')).toBe(fresh);
    }
    const { stdout } = await squad.run(['open', '--no-browser'], { cwd: fresh });
    const page = await webUi.blank();
    await page.goto(stdout.trim());
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor({ state: 'attached' });
    await page.keyboard.press('N');
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    await expect.poll(() => dialog.getByRole('combobox', { name: 'Folder' }).inputValue()).toBe(fresh);
    await expect.poll(() => dialog.getByRole('option', { name: 'plain' }).count()).toBe(1);
  });

  test('figures say which of them they are of, what is elsewhere, and lead to all', async () => {
    const asks = await startRun(squad, 'Ask there', ['ask Which one?'], { role: 'plain' });
    await squad.run(['run', 'plain', `Work here${script('report done')}`], { cwd: fresh });
    await until('it asks', async () =>
      (await askHub<{ items: { runId: string }[] }>(squad, 'list_inbox')).items.some(
        ({ runId }) => runId === asks,
      ),
    );
    const page = await webUi.open(`/cost?${new URLSearchParams({ w: fresh })}`);
    const chips = page.locator('.chips');
    await chips.getByRole('link', { name: 'needs you 0', exact: true }).waitFor();
    await chips.getByRole('link', { name: 'needs you in another workspace 1' }).waitFor();
    for (const width of [1440, 1280, 1024, 768]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await chips.evaluate(box => box.scrollWidth - box.clientWidth), `${width}`).toBeLessThanOrEqual(
        0,
      );
    }
    await page.getByRole('heading', { name: 'Today, in all workspaces' }).waitFor();
    const picker = page.getByLabel('Workspace');
    expect(await picker.inputValue()).toBe(fresh);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    await picker.selectOption('all workspaces');
    await page.getByRole('heading', { name: 'Today', exact: true }).waitFor();
    await chips.getByRole('link', { name: 'needs you 1', exact: true }).waitFor();
    expect(await chips.getByText('elsewhere').count()).toBe(0);
    expect(new URL(page.url()).searchParams.get('w')).toBeNull();
  });
});
