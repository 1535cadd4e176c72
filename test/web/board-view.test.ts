import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { seriousFindings, startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({
  coder: '---\ndescription: Writes the code\nisolation: worktree\n---\nYou code.',
  tester: '---\ndescription: Tests\n---\nYou test.',
});
const webUi = useWebUi(squad);
let ready: string;
let conflicts: string;
let works: string;

beforeAll(async () => {
  squad.write('.squad/backlog.md', '## Next\n\n- [ ] Retry uploads [P1] @tester (#12)\n- [ ] Icons\n');
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Backlog');
  ready = await startRun(squad, 'Write the guide', ['write a.txt', '| one', 'write own.txt', '| own']);
  conflicts = await startRun(squad, 'Write it otherwise', ['write a.txt', '| two']);
  await squad.run(['wait', ready, conflicts]);
  works = await startRun(squad, 'Work for long', ['say at it', 'hang'], { role: 'tester' });
});

const column = (name: string) => `.column[aria-label="${name}"]`;

test('runs are in columns by what is next, and move when that changes', async () => {
  const page = await webUi.open('/');
  await page.locator(`[data-run=${works}]`).waitFor();
  await page.keyboard.press('b');
  await page.waitForURL(/view=board/);
  await page.locator(`${column('Working')} [data-run=${works}]`).waitFor();
  await page.locator(`${column('Ready to merge')} [data-run=${ready}]`).waitFor();
  const asks = await startRun(squad, 'Ask something', ['ask "Which?" a b', 'report done'], {
    role: 'tester',
  });
  const card = page.locator(`${column('Needs you')} [data-run=${asks}]`);
  await card.getByText('Which?').waitFor();
  await card.getByRole('link', { name: /^Answer/ }).click();
  await page.waitForURL(/\/inbox/);
  const [item] = (await askHub<{ items: { id: string }[] }>(squad, 'list_inbox')).items;
  await page.goBack();
  await page.locator(column('Needs you')).waitFor();
  await squad.run(['answer', item!.id, 'a']);
  await page.locator(`${column('Done')} [data-run=${asks}]`).waitFor();
  await page.keyboard.press('b');
  await page.locator('.board > li').first().waitFor();
});

test('a squad is one card with a mark for each member', async () => {
  const members = [
    { roleId: 'tester', task: `One${script('report done')}` },
    { roleId: 'tester', task: `Two${script('hang')}` },
  ];
  const { squadId, runIds } = await askHub<{ squadId: string; runIds: string[] }>(squad, 'start_squad', {
    ...{ members, metadata: { name: 'Two of us' } },
  });
  const page = await webUi.open('/?view=board');
  const card = page.locator(`${column('Working')} [data-card=${squadId}]`);
  await card.getByRole('link', { name: 'Two of us' }).waitFor();
  await card.getByRole('link', { name: 'tester: done' }).waitFor();
  await card.getByRole('link', { name: 'tester: running' }).waitFor();
  await squad.run(['cancel', runIds[1]!]);
  await page.locator(`${column('Done')} [data-card=${squadId}]`).waitFor();
});

test('keys move between cards and columns, and open a card', async () => {
  const page = await webUi.open('/?view=board');
  await page.locator(`[data-run=${ready}]`).waitFor();
  await page.locator('[data-card]', { hasText: 'Retry uploads' }).first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await page.keyboard.press('l');
  await expect.poll(focused).toBe('Retry uploads');
  await page.keyboard.press('l');
  await expect.poll(focused).toBe('Work for long');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/r/${works}`);
  await page.getByRole('heading', { name: /Work for long/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/view=board/);
});

test('a started backlog item shows its run, and is started twice only on purpose', async () => {
  const page = await webUi.open('/?view=board');
  const item = page.locator('.card-item', { hasText: 'Retry uploads' });
  await item.getByRole('button', { name: /^Start a run for/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Task').fill(`Retry${script('hang')}`);
  await dialog.getByLabel('In its own work tree').uncheck();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/r\/run_/);
  const run = new URL(page.url()).pathname.split('/')[2]!;
  await page.goBack();
  await item.locator(`a[href="/r/${run}"]`, { hasText: 'running' }).waitFor();
  expect(await item.getByRole('button').count()).toBe(0);

  const { groups } = await askHub<{ groups: { items: { key: string }[] }[] }>(squad, 'list_backlog');
  const { key } = groups[0]!.items[0]!;
  const again = askHub(squad, 'start_squad', {
    members: [{ roleId: 'tester', task: 'Once more', backlog: key }],
  });
  await expect(again).rejects.toThrow(/BACKLOG_ITEM_STARTED|already started/);
  await page.goto(`${webUi.origin}/backlog`);
  await page.getByRole('button', { name: /^Start another run for: Retry/ }).click();
  await dialog.getByText(`This item was started before: ${run}, running`).waitFor();
  await page.keyboard.press('Escape');
  await squad.run(['cancel', run]);
});

test('the merge desk shows overlap and conflict, merges the clean branch, and cleans up', async () => {
  const page = await webUi.open('/merge');
  await page.locator('.overlap-table td.is-shared').first().waitFor();
  const row = page.locator('.merge tr', { hasText: 'conflicts, left out' });
  await row.locator('summary', { hasText: 'a.txt' }).click();
  await row.locator('pre', { hasText: '<<<<<<<' }).waitFor();
  await row.getByRole('button', { name: 'Ask the agent to resolve' }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);

  await page.getByLabel('Check before merging').selectOption('custom command');
  const go = join(squad.root, 'go');
  await page.getByLabel('Check command').fill(`echo hello; until test -e ${go}; do sleep 0.1; done`);
  await page.getByRole('button', { name: 'Update plan' }).click();
  await page.getByRole('button', { name: 'Run the check' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run it' }).click();
  await page.locator('.check-output', { hasText: 'hello' }).waitFor();
  writeFileSync(go, '');
  await page.locator('.checklist li', { hasText: 'check passed' }).waitFor();
  await page.locator('.merge-actions button.main:not([aria-disabled])').click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Merge/ })
    .click();
  await until('main has it', () => squad.git('ls-tree', 'main', 'a.txt') !== '');
  await page.getByRole('button', { name: 'Remove 1 work tree' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Removed 1 work tree.').first().waitFor();
  await page.goto(`${webUi.origin}/?view=board`);
  await page.locator(`${column('Merged')} [data-run]`).waitFor();
  await page.locator(`${column('Ready to merge')} [data-run]`).waitFor();
});

test('the merge desk includes a run that failed only on request', async () => {
  const failed = await startRun(squad, 'Break it', ['write broken.txt', '| x', 'exit 1']);
  await squad.run(['wait', failed]);
  const page = await webUi.open('/merge');
  await page.locator('.merge li', { hasText: `${failed} is left out: it ended as error` }).waitFor();
  await page.getByRole('button', { name: `Include ${failed}` }).click();
  await page.locator('.merge tr', { hasText: 'Break it' }).waitFor();
});

test('each workspace is a lane, and a column is as wide in each of them', async () => {
  const other = join(squad.root, 'other');
  mkdirSync(other);
  const run = ['run', 'tester', `Elsewhere${script('report done')}`, '--workspace', other];
  expect(await squad.run(run)).toMatchObject({ code: 0 });
  const page = await webUi.open('/?view=board');
  const lane = page.getByRole('region', { name: 'other', exact: true });
  await lane.locator(column('Done')).locator('[data-run]').waitFor();
  await page.locator('.card-item').first().waitFor();
  const edges = (name: string) =>
    page
      .locator(column(name))
      .evaluateAll(all => all.map(one => Math.round(one.getBoundingClientRect().left)));
  for (const name of ['Working', 'Ready to merge', 'Done']) {
    const [one, next] = await edges(name);
    expect(one).toBe(next);
  }
  const titles = page.locator('.column-name');
  expect(await titles.evaluateAll(all => all.filter(one => one.scrollWidth > one.clientWidth).length)).toBe(
    0,
  );
});
