import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { GitSquad } from '../support/git-squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({ coder: 'You code.' });
const webUi = useWebUi(squad);
let works: string;

beforeAll(async () => {
  await squad.run(['wait', await startRun(squad, 'Was done before', ['report done'])]);
  works = await startRun(squad, 'Work for long', ['say at it', 'hang']);
});

/** Everything but a pointer. */
async function open(path: string): Promise<Page> {
  const page = await webUi.open(path);
  await page.addInitScript(() => {
    for (const type of ['pointerdown', 'mousedown', 'click'])
      addEventListener(
        type,
        event => {
          // A key press on a button is a click without a pointer.
          if (event instanceof PointerEvent && event.pointerType !== '')
            throw new Error('A pointer was used');
        },
        true,
      );
  });
  return page;
}
const palette = (page: Page) => page.getByRole('combobox', { name: 'Search commands, views and runs' });
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');

test('a run is found, opened, looked through and cancelled', async () => {
  const page = await open('/');
  await page.locator(`[data-run=${works}]`).waitFor();
  await page.keyboard.press('j');
  await expect.poll(() => focused(page)).toBe('Work for long');
  await page.keyboard.press('j');
  await expect.poll(() => focused(page)).toBe('Was done before');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/r/${works}`);
  await page.locator('.step').first().waitFor();
  for (const [key, tab] of [
    [']', 'output'],
    [']', 'changes'],
    ['4', 'details'],
    ['2', 'output'],
    ['[', 'activity'],
  ] as const) {
    await page.keyboard.press(key);
    await page.waitForURL(`**/r/${works}/${tab}`);
    await page.locator(`nav a[aria-current=page][href$="/${tab}"]`).waitFor();
  }
  await page.getByRole('button', { name: /^Cancel/ }).waitFor();
  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.keyboard.press('c');
  await dialog.getByRole('button', { name: 'Cancel the run' }).waitFor();
  // The focus is on what the key was pressed for.
  await expect.poll(() => focused(page)).toBe('Cancel the run');
  await page.keyboard.press('Enter');
  await page.locator('.run-facts', { hasText: 'cancelled' }).waitFor();
});

test('the palette finds views and runs, goes there, and leaves the focus where it was when it is closed', async () => {
  const page = await open('/');
  await page.locator(`[data-run=${works}]`).waitFor();
  await page.keyboard.press('j');
  const before = await focused(page);
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  expect(await focused(page)).toBe(before);
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type('decis');
  await page.getByRole('option', { name: /Decisions/, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Decisions' }).waitFor();
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type('done before');
  await page
    .getByRole('option', { name: /Was done before/ })
    .first()
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Was done before' }).waitFor();
});

test('the end of one dialog, told late, does not close the next', async () => {
  const page = await open('/');
  await page.locator(`[data-run=${works}]`).waitFor();
  await page.keyboard.press('?');
  const help = await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).elementHandle();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await help!.evaluate(dialog => dialog.dispatchEvent(new Event('close')));
  await page.evaluate(() => new Promise(settle => setTimeout(() => requestAnimationFrame(settle))));
  expect(await palette(page).count()).toBe(1);
});

test('two keys in a row go to each view', async () => {
  const page = await open('/');
  await page.locator('.board > li').first().waitFor();
  for (const [key, path, heading] of [
    ['i', '/inbox', 'Waiting for you'],
    ['v', '/reviews', 'Reviews'],
    ['m', '/merge', 'Merge'],
    ['b', '/backlog', 'Backlog'],
    ['d', '/decisions', 'Decisions'],
    ['c', '/cost', 'Cost'],
    ['g', '/gateway', 'Gateway'],
    ['a', '/machines', 'Machines'],
    ['h', '/chats', 'Chats'],
    ['e', '/events', 'Events'],
    ['s', '/settings', 'Settings'],
    ['r', '/', 'Runs'],
    // Last, because there one types at once.
    ['f', '/search', 'Search'],
  ] as const) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForURL(`${webUi.origin}${path}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor({ state: 'attached' });
  }
});

test('the list of keys is that of the view, and keys rest while somebody types', async () => {
  const page = await open('/');
  await page.locator('.board > li').first().waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.getByText('Next run').first().waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  await page.keyboard.type('g i ? c');
  expect(new URL(page.url()).pathname).toBe('/');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(await page.getByRole('searchbox').inputValue()).toBe('g i ? c');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('.board > li').count()).toBe(2);
});

test('the first tab leads to the content, and everything that can be pressed can be reached and seen', async () => {
  const page = await open('/');
  await page.locator(`[data-run=${works}]`).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to content');
  const seen = new Set<string>();
  for (let step = 0; step < 80; step++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      return {
        name: element.getAttribute('aria-label') || element.textContent || element.tagName,
        isMarked: outlineStyle !== 'none' || boxShadow !== 'none',
      };
    });
    if (at === null) break;
    expect(at).toMatchObject({ isMarked: true });
    seen.add(at.name);
  }
  for (const name of ['Commands', 'Settings', 'Was done before', 'Retry Was done before'])
    expect([...seen]).toContain(name);
});
