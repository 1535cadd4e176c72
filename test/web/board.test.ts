import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { finishedRun } from '../../bench/sample-runs.ts';
import { openStore } from '../../src/store/open.ts';
import { askHub } from '../support/ask-hub.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const OLD_RUNS = 120;
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });

beforeAll(async () => {
  mkdirSync(squad.home, { recursive: true });
  const store = await openStore({ database: join(squad.home, 'squad.db'), version: 'test' });
  const day = 24 * 3_600_000;
  for (let at = 0; at < OLD_RUNS; at++)
    for (const change of finishedRun(squad.workspace, Date.now() - 2 * day - at * 60_000))
      await store.commit(change);
  await store.close();
});
const webUi = useWebUi(squad);
const runs: Record<'asks' | 'failed' | 'works' | 'waits', string> = {
  ...{ asks: '', failed: '', works: '', waits: '' },
};

beforeAll(async () => {
  const isAt = (run: string, status: string) =>
    until(`${run} is ${status}`, async () => (await shown(run)).status === status);
  runs.asks = await startRun(squad, 'Choose a database', ['ask "Which database?" sqlite postgres']);
  runs.failed = await startRun(squad, 'Break something', ['fail it broke']);
  await isAt(runs.failed, 'error');
  await until(
    'it asks',
    async () => (await askHub<{ items: unknown[] }>(squad, 'list_inbox')).items.length === 1,
  );
  await squad.json(['config', 'set', 'limits.concurrency', '1']);
  runs.works = await startRun(squad, 'Work for long', ['say at it', 'hang']);
  await isAt(runs.works, 'running');
  runs.waits = await startRun(squad, 'Wait for a place', ['report done']);
});

const shown = async (run: string) =>
  (await askHub<{ run: { status: string } }>(squad, 'show_run', { run })).run;
const ids = (page: Page) =>
  page.locator('.board > li').evaluateAll(rows => rows.map(row => (row as HTMLElement).dataset.run));

test('runs are in the order of who needs somebody, then who failed, works, waits and is done', {
  tags: ['D9'],
}, async () => {
  const page = await webUi.open('/');
  await page.locator('.board > li').nth(49).waitFor();
  expect((await ids(page)).slice(0, 4)).toEqual([runs.asks, runs.failed, runs.works, runs.waits]);
  const chips = page.getByRole('navigation', { name: 'Runs, sorted by what needs you' });
  for (const [name, count] of [
    ['all', OLD_RUNS + 4],
    ['needs you', 1],
    ['failed', 1],
    ['running', 1],
    ['queued', 1],
    ['done', OLD_RUNS],
  ] as const)
    await chips.getByRole('link', { name: `${name} ${count}`, exact: true }).waitFor();
  await expect.poll(() => page.title()).toBe('(1) Runs · Squad');
});

test('more than fifty are leafed through, and none is shown twice', async () => {
  const page = await webUi.open('/');
  await expect.poll(async () => new Set(await ids(page)).size).toBe(50);
  await page.locator('.board > li').last().scrollIntoViewIfNeeded();
  await page.keyboard.press('End');
  await expect.poll(async () => new Set(await ids(page)).size).toBe(OLD_RUNS + 4);
  expect((await ids(page)).length).toBe(OLD_RUNS + 4);
  await page.getByRole('button', { name: 'show more' }).waitFor({ state: 'detached' });
});

test('a filter is in the address, and an address is a filter', async () => {
  const page = await webUi.open('/');
  await page.getByRole('link', { name: /^failed/ }).click();
  await expect.poll(() => ids(page)).toEqual([runs.failed]);
  expect(new URL(page.url()).search).toBe('?need=failed');
  await page.goBack();
  await expect.poll(async () => (await ids(page)).length).toBe(50);
  await page.keyboard.press('/');
  await page.keyboard.type('database');
  await expect.poll(() => ids(page)).toEqual([runs.asks]);
  const other = await webUi.open('/?q=something&need=failed');
  await expect.poll(() => ids(other)).toEqual([runs.failed]);
  await other.goto(`${webUi.origin}/?q=nosuchword`);
  await other.getByText('No runs match “nosuchword”').waitFor();
});

test('a run that changes goes to its new place, but not while somebody is in the list', async () => {
  const page = await webUi.open('/');
  await page.locator('.board > li').nth(49).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Break something');
  await squad.run(['cancel', runs.works]);
  await page.locator(`[data-run=${runs.works}]`).getByText('cancelled', { exact: true }).waitFor();
  await page.locator(`[data-run=${runs.waits}]`).getByText('done', { exact: true }).waitFor();
  expect((await ids(page)).slice(0, 4)).toEqual([runs.asks, runs.failed, runs.works, runs.waits]);
  await page.getByRole('button', { name: /Sort again: .* out of order/ }).waitFor();
  await page.keyboard.press('s');
  await expect
    .poll(async () => (await ids(page)).slice(0, 4))
    .toEqual([runs.asks, runs.failed, runs.waits, runs.works]);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Break something');
});

test('of a folder where nothing ran, that is said', async () => {
  webUi.expectErrors(/4\d\d/);
  const page = await webUi.open('/?w=%2Fno%2Fsuch%2Ffolder');
  await page.getByText('No runs in this project yet').waitFor();
  await page.getByText('does not exist').first().waitFor();
});

test('the counts follow the words of the filter, and fit at every width', async () => {
  const page = await webUi.open('/?q=database');
  const chips = page.getByRole('navigation', { name: 'Runs, sorted by what needs you' });
  await chips.getByRole('link', { name: 'all 1', exact: true }).waitFor();
  await page.goto(`${webUi.origin}/`);
  await chips.getByRole('link', { name: `all ${OLD_RUNS + 4}`, exact: true }).waitFor();
  for (const width of [1440, 1280, 1024, 768]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await chips.evaluate(box => box.scrollWidth - box.clientWidth), `${width}`).toBeLessThanOrEqual(0);
  }
});

test('the column of roles looks the same after another view was open', async () => {
  const page = await webUi.open('/');
  const look = () =>
    page
      .locator('.board .run-role')
      .first()
      .evaluate(role => {
        const { color, fontWeight } = getComputedStyle(role);
        return { color, fontWeight };
      });
  const before = await look();
  await page.locator(`[data-run=${runs.failed}] .run-title`).click();
  await page.locator('.run-head h1').waitFor();
  await page.goBack();
  await page.locator('.board .run-role').first().waitFor();
  expect(await look()).toEqual(before);
});

test('a row names its workspace once there are several, and a number key answers its question', async () => {
  const other = mkdtempSync(join(tmpdir(), 'squad-elsewhere-'));
  await squad.json(['run', 'coder', 'Say hello', '--detach', '--workspace', other]);
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${runs.asks}]`);
  await row.locator('.run-place', { hasText: basename(squad.workspace) }).waitFor();
  // A question that has just appeared accepts no answer.
  await row.getByRole('button', { name: 'postgres', disabled: false }).waitFor();
  await row.locator('.run-title').focus();
  await page.keyboard.press('2');
  await row.getByText('done', { exact: true }).waitFor();
  const { items } = await askHub<{ items: { answer: string }[] }>(squad, 'list_inbox', { state: 'settled' });
  expect(items[0]?.answer).toBe('postgres');
});
