import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

interface Shown {
  title: string;
  body: string;
  tag: string;
}

declare global {
  interface Window {
    shown: (Shown & { onclick: () => void })[];
    asked: number;
    isInFront: boolean;
  }
}

/** A browser without a head has nowhere to show one: what it is given is kept, and whether it is in front is said by the test. */
async function opened(path: string, answer: NotificationPermission = 'granted'): Promise<Page> {
  const page = await webUi.blank();
  await page.addInitScript(requested => {
    window.shown = [];
    window.asked = 0;
    window.isInFront = true;
    let permission = 'default';
    class Kept {
      onclick = () => {};
      title: string;
      body: string;
      tag: string;
      constructor(title: string, { body, tag }: { body: string; tag: string }) {
        [this.title, this.body, this.tag] = [title, body, tag];
        window.shown.push(this);
      }
      close() {}
      static get permission() {
        return permission;
      }
      static async requestPermission() {
        window.asked++;
        permission = requested;
        return permission;
      }
    }
    Object.defineProperty(window, 'Notification', { value: Kept });
    Object.defineProperty(document, 'visibilityState', {
      get: () => (window.isInFront ? 'visible' : 'hidden'),
    });
  }, answer);
  await webUi.enter(page, path);
  return page;
}

const shownOn = (page: Page): Promise<Shown[]> =>
  page.evaluate(() => window.shown.map(({ title, body, tag }) => ({ title, body, tag })));

const lookElsewhere = (page: Page) =>
  page.evaluate(() => {
    window.isInFront = false;
  });

/** Navigates by links of the web UI, because a reload would reset the browser's permission. */
async function turnOn(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Turn notifications on' }).click();
  await page.getByRole('button', { name: 'Turn notifications off' }).waitFor();
}

test('no permission is asked for, and nothing is sent, before the button is pressed', async () => {
  const page = await opened('/inbox');
  await page.getByRole('link', { name: 'Turn on notifications.' }).waitFor();
  await lookElsewhere(page);
  const run = await startRun(squad, 'Unheard', ['ask Is anybody there?']);
  await page.locator('.ask', { hasText: 'Is anybody there?' }).waitFor();
  expect(await page.evaluate(() => [window.asked, window.shown.length])).toEqual([0, 0]);
  await squad.run(['cancel', run]);
});

test('a question and a failure notify a user whose page is in the background; a click opens them', async () => {
  const page = await opened('/');
  await turnOn(page);
  await page.getByRole('link', { name: 'Inbox' }).click();
  const seen = await startRun(squad, 'Seen', ['ask Who sees this?']);
  await page.locator('.ask', { hasText: 'Who sees this?' }).waitFor();
  await lookElsewhere(page);
  const [asks, fails, done] = [
    await startRun(squad, 'Choose', ['ask "Red or blue?" red blue']),
    await startRun(squad, 'Break', ['fail on purpose']),
    await startRun(squad, 'Work', ['report done']),
  ];
  await squad.run(['wait', fails, done]);
  await expect.poll(async () => (await shownOn(page)).length).toBe(2);
  const told = await shownOn(page);
  expect(told.map(({ title, body }) => `${title}: ${body}`).sort()).toEqual([
    'coder failed: Break',
    'coder needs you: Red or blue?',
  ]);
  const click = (tag: string) =>
    page.evaluate(wanted => window.shown.find(one => one.tag === wanted)?.onclick(), tag);
  await click(fails);
  await page.waitForURL(`${webUi.origin}/r/${fails}**`);
  await click(told.find(({ tag }) => tag !== fails)!.tag);
  await page.waitForURL(`${webUi.origin}/inbox#ask_*`);
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.textContent ?? ''))
    .toContain('Red or blue?');
  for (const run of [seen, asks]) await squad.run(['cancel', run]);
});

test('turned off, they stop; what the user refuses stays refused', async () => {
  const page = await opened('/');
  await turnOn(page);
  await page.keyboard.press('o');
  await page.getByRole('button', { name: 'Turn notifications on' }).waitFor();
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await lookElsewhere(page);
  const run = await startRun(squad, 'Break quietly', ['fail again']);
  await page.locator(`[data-run=${run}]`).getByText('failed').first().waitFor();
  expect(await shownOn(page)).toEqual([]);
  const refused = await opened('/settings', 'denied');
  await refused.getByRole('button', { name: 'Turn notifications on' }).click();
  await refused.getByText('Your browser blocks notifications').waitFor();
});
