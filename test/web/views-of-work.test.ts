import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { useWebUi } from '../support/web-ui.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e';
const squad = new GitSquad({
  coder: '---\nisolation: worktree\n---\nYou code.',
  lead: '---\nspawn: true\n---\nYou lead.',
});
const webUi = useWebUi(squad);
let squadId = '';
let merging = '';
let checked = '';

beforeAll(async () => {
  squad.write('.squad/backlog.md', `## Next\n\n- [ ] Limits ${HOSTILE} [P1] @coder\n- [x] Login\n`);
  squad.write('.squad/decisions.md', `### 2026-01-05: Use Postgres ${HOSTILE}\n**What:** ${HOSTILE}\n`);
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Files');
  const child = JSON.stringify({
    members: [{ roleId: 'coder', task: `Below${script('usage 10 1 0 0.2')}` }],
  });
  const lead = `Lead ${HOSTILE}${script('usage 1000 10 0 0.5', `call start_squad_members ${child}`)}`;
  squadId = await start(
    { roleId: 'lead', task: lead },
    { roleId: 'coder', task: `Breaks${script('fail on purpose')}` },
  );
  merging = await start({ roleId: 'coder', task: `Writes${script('write a.txt', '| a')}` });
  squad.git('branch', 'next');
  checked = await start({ roleId: 'coder', task: `Writes b${script('write b.txt', '| b')}` });
  await squad.run(['wait', squadId, merging, checked]);
});

async function start(...members: { roleId: string; task: string }[]): Promise<string> {
  return (await askHub<{ squadId: string }>(squad, 'start_squad', { members })).squadId;
}
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');
const shows = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();

describe('a squad', () => {
  test('is a tree that the arrow keys walk, with what each cost alone and with what is below it', {
    tags: ['D9'],
  }, async () => {
    const page = await webUi.open(`/s/${squadId}`);
    const rows = page.locator('[role=treeitem]');
    await shows(page, '[role=treeitem]', 'Below');
    const levels = await rows.evaluateAll(all => all.map(row => row.getAttribute('aria-level')));
    expect(levels).toEqual(['1', '2', '1']);
    expect(await rows.nth(0).innerText()).toMatch(/\$0\.50[\s\S]*\$0\.70/);
    expect(await rows.nth(2).innerText()).toContain('unknown');
    await rows.nth(0).focus();
    await page.keyboard.press('ArrowRight');
    await until('the child has the focus', async () => (await focused(page)).includes('Below'));
    await page.keyboard.press('ArrowLeft');
    await until('its parent has it', async () => (await focused(page)).includes('Lead'));
    await page.keyboard.press('ArrowLeft');
    await until('it is closed', async () => (await rows.count()) === 2);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/r\/run_\w+\/activity/);
  });

  test('has a timeline whose bars say their times, zoom and open their run', async () => {
    const page = await webUi.open(`/s/${squadId}`);
    await shows(page, '[role=treeitem]', 'Below');
    await page.locator('.timeline a[tabindex="0"]').focus();
    await page.keyboard.press('End');
    await shows(page, '.timeline-words', /^lead: turn 1, .* exit 0$/);
    await page.keyboard.press('ArrowDown');
    await shows(page, '.timeline-words', /^coder: /);
    await page.locator('.timeline a:focus[aria-label^="coder: "]').waitFor();
    const width = () =>
      page.evaluate(() => Math.round(document.activeElement?.getBoundingClientRect().width ?? 0));
    const whole = await width();
    await page.keyboard.press('z');
    await until('its bar is wider', async () => (await width()) > whole);
    await page.keyboard.press('0');
    await until('all is visible again', async () => (await width()) === whole);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/r\/run_\w+\/activity/);
  });

  test('is merged as it was shown, and not before its effect was said', async () => {
    const page = await webUi.open(`/s/${merging}`);
    await shows(page, '[role=treeitem]', 'Writes');
    await page.keyboard.press('i');
    await shows(page, '.checklist', 'no conflicts');
    await page.keyboard.press('m');
    const dialog = page.locator('dialog[open]');
    await shows(page, 'dialog[open]', 'Nothing is pushed.');
    expect(await dialog.innerText()).toContain(`squad integrate ${merging}`);
    const before = squad.git('rev-parse', 'main');
    await dialog.getByRole('button', { name: 'Merge 1 branch into main' }).click();
    await shows(page, '.toast', 'Merged 1 branch into main');
    expect(squad.git('rev-parse', 'main')).not.toBe(before);
    expect(squad.git('show', 'main:a.txt')).toBe('a');
    await shows(page, '.timeline-legend', 'merge');
  });

  test('is merged into another branch, with a check that was typed, only as it was looked at', async () => {
    const page = await webUi.open(`/s/${checked}`);
    await shows(page, '[role=treeitem]', 'Writes b');
    await page.keyboard.press('i');
    await shows(page, '.checklist', 'no conflicts');
    const merge = page.locator('.merge');
    const button = (name: string | RegExp) => merge.getByRole('button', { name });
    await merge.getByLabel('Into branch').fill('nowhere');
    await shows(page, '.merge-why', 'Update the plan first');
    expect(await button(/^Merge 1 branch/).getAttribute('aria-disabled')).toBe('true');
    webUi.expectErrors(/40\d/);
    await page.keyboard.press('Enter');
    await shows(page, '.merge .problem', 'nowhere');
    await merge.getByLabel('Into branch').fill('next');
    await merge.getByLabel('Check before').selectOption('command');
    await merge.getByLabel('Check command').fill('test -f b.txt && echo "looks right"');
    await button('Update plan').click();
    await shows(page, '.merge-why', 'The check has not run on this result yet.');
    await button(/^Run the check/).click();
    const dialog = page.locator('dialog[open]');
    await shows(page, 'dialog[open]', /Runs .*test -f b\.txt.* on the merged result/);
    await dialog.getByRole('button', { name: 'Run it' }).click();
    await shows(page, '.merge', 'looks right');
    const [main, next] = [squad.git('rev-parse', 'main'), squad.git('rev-parse', 'next')];
    // The second click lands outside the dialog that the first click opens, and must not close it.
    await button('Merge 1 branch into next').dblclick();
    await shows(page, 'dialog[open]', 'Moves next from');
    expect(await dialog.innerText()).toContain(
      `squad integrate ${checked} --into next --check 'test -f b.txt && echo "looks right"' --workspace`,
    );
    await dialog.getByRole('button', { name: 'Merge 1 branch into next' }).click();
    await shows(page, '.toast', 'Merged 1 branch into next');
    expect(squad.git('rev-parse', 'main')).toBe(main);
    expect(squad.git('rev-parse', 'next')).not.toBe(next);
    expect(squad.git('show', 'next:b.txt')).toBe('b');
  });
});

describe('other views', () => {
  test('the search for decisions can be read whole on a phone', async () => {
    const page = await webUi.open('/decisions', { width: 360 });
    const box = page.getByLabel('Search decisions');
    await box.waitFor();
    const room = await box.evaluate((input: HTMLInputElement) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(input);
      const pen = document.createElement('canvas').getContext('2d')!;
      pen.font = font;
      const inside = input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
      return inside - pen.measureText(input.placeholder).width;
    });
    expect(room).toBeGreaterThanOrEqual(0);
  });

  test('decisions are found by words, which are marked and stay text', async () => {
    const page = await webUi.open('/decisions');
    await shows(page, '.decision', 'Use Postgres');
    await page.keyboard.press('/');
    await page.keyboard.type('postgres');
    await shows(page, '.decision mark', 'Postgres');
    await page.waitForURL(/search=postgres/);
    expect(await page.locator('.decision img').count()).toBe(0);
  });

  test('a refused setting keeps what was typed, an accepted one counts at once', async () => {
    webUi.expectErrors(/400/);
    const page = await webUi.open('/settings');
    await shows(page, 'td', 'limits.concurrency');
    await page.keyboard.press('e');
    const box = page.locator('dialog input');
    await box.fill('-5');
    await box.press('Enter');
    await shows(page, 'dialog .problem', 'limits.concurrency cannot be');
    expect(await box.inputValue()).toBe('-5');
    await box.fill('9');
    await box.press('Enter');
    await shows(page, 'tr', /limits\.concurrency[\s\S]*9[\s\S]*set by you/);
  });

  test('events are filtered by the address and come as they happen', async () => {
    const page = await webUi.open('/events?type=setting.changed,run.ended');
    await shows(page, '.event', 'run.ended');
    const types = await page.locator('.event b').allTextContents();
    expect([...new Set(types)].sort()).toEqual(['run.ended', 'setting.changed']);
    await squad.json(['config', 'set', 'prune.days', '31']);
    await shows(page, '.event', 'prune.days = 31');
  });
});
