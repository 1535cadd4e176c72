import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestBox } from '../support/box.ts';
import { installClaude, saveChat } from '../support/saved-chat.ts';
import { type Team, TeamSquad } from '../support/team.ts';
import { seriousFindings, useWebUi } from '../support/web-ui.ts';

const squad = new TeamSquad();
const webUi = useWebUi(squad);
const box = new TestBox(squad);
installClaude(squad);
saveChat(squad, '11111111-1111-4111-8111-111111111111', 'Why are uploads slow?');
let team: Team;
beforeAll(async () => {
  team = await squad.work();
  await box.start();
  const label = ['--label', 'gpu=yes', '--ssh-config', box.sshConfig];
  expect(await squad.run(['machines', 'add', 'box', 'box', ...label])).toMatchObject({ code: 0 });
});
afterAll(() => box.stop());

const VIEWS: [string, () => string, string][] = [
  ['the list of runs', () => '/', '.board > li >> nth=5'],
  ['the board', () => '/?view=board', '.card >> nth=5'],
  ['the inbox', () => '/inbox', '.ask >> nth=1'],
  ['a squad', () => `/s/${team.squadId}`, '.squad-columns'],
  ['the activity of a run', () => `/r/${team.coder}/activity`, '.step >> nth=3'],
  ['the output of a run', () => `/r/${team.coder}/output?turn=1`, '.out-line >> nth=3'],
  ['the changes of a run', () => `/r/${team.coder}/changes`, '.diff-row >> nth=3'],
  ['the details of a run', () => `/r/${team.coder}/details`, '.details'],
  ['the reviews of a run', () => `/r/${team.coder}/review`, '.round >> nth=1'],
  ['a run that failed', () => `/r/${team.failed}`, '.failure pre'],
  ['a run that asks', () => `/r/${team.asks}`, '.open-question'],
  ['reviews', () => '/reviews', '.open-review'],
  ['the merge desk', () => '/merge', '.merge tbody tr'],
  ['the backlog', () => '/backlog', '.backlog-item'],
  ['decisions', () => '/decisions', '.decision-list li'],
  ['cost', () => '/cost', '.cost table, .cost svg'],
  ['the gateway', () => '/gateway', '.gateway table'],
  ['machines', () => '/machines', '.machines td'],
  ['chats', () => '/chats', '.chats td'],
  ['events', () => '/events', '.events li, .events tr'],
  ['settings', () => '/settings', '.settings table'],
  ['a search', () => '/search?q=retry', '.search-lines li'],
];

describe.each(VIEWS)('%s', (_, path, ready) => {
  test('can be used by everybody, in light and in dark, and is as wide as a phone', async () => {
    const page = await webUi.visit(path());
    await page.locator(ready).first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)).toBe(true);
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator(ready).first().waitFor();
    expect(await page.evaluate(beyondTheEdge)).toEqual([]);
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([]);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await seriousFindings(page)).toEqual([]);
  });
});

test('dialogs over a view are accessible, too', async () => {
  const page = await webUi.open('/');
  await page.locator('.board > li').first().waitFor();
  for (const key of ['?', 'Control+k', 'N']) {
    await page.keyboard.press(key);
    await page.locator('dialog[open]').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await seriousFindings(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate(beyondTheEdge)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
  }
});

test('light and dark are two looks', { tags: ['B7'] }, async () => {
  const page = await webUi.open('/');
  const look = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await look();
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await look()).not.toBe(light);
});

test('a chosen theme stays after a reload, whatever the system has', async () => {
  const page = await webUi.open('/settings', { theme: 'light' });
  const look = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await look();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await look();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByLabel('Theme').waitFor();
  expect(await look()).toBe(dark);
  await page.getByLabel('Theme').selectOption('system');
  expect(await look()).toBe(light);
});

/** Elements that make the whole page scroll sideways. */
function beyondTheEdge(): string[] {
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  return [...document.querySelectorAll('body *')]
    .filter(element => element.getBoundingClientRect().right > innerWidth + 0.5)
    .map(element => element.outerHTML.slice(0, 120));
}
