import { beforeAll, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad } from '../support/git-squad.ts';
import { startRun, usePages } from '../support/page.ts';

const LINES = 100_000;
const squad = new GitSquad({ coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.' });
const pages = usePages(squad);
let small: string;
let large: string;

beforeAll(async () => {
  squad.write('src/old.ts', 'one\ntwo\nthree\n');
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Second');
  small = await startRun(squad, 'Change a little', [
    ...['write src/old.ts', '| one', '| zwei', '| three', 'write src/new.ts', '| first', '| second'],
    'report done',
  ]);
  // 5 MB of diff.
  const lines = `awk 'BEGIN{for(i=1;i<=${LINES};i++)printf "%06d generated line that is fifty characters long\\n",i}'`;
  large = await startRun(squad, 'Change a lot', [`run ${lines} > generated.txt`, 'report done']);
  await squad.run(['wait', small, large]);
});

test('comments on lines of an ended run go back to its agent, once', async () => {
  const page = await pages.open(`/r/${small}/changes`);
  await page.locator('.diff-row', { hasText: 'zwei' }).waitFor();
  await page.locator('.diff-row', { hasText: 'zwei' }).focus();
  await page.keyboard.press('m');
  await page.keyboard.type("Say 'two' again");
  await page.keyboard.press('Control+Enter');
  await page.locator('.diff-remark', { hasText: "Say 'two' again" }).waitFor();
  await page.reload();
  await page.locator('.diff-remark', { hasText: "Say 'two' again" }).waitFor();
  await page.getByRole('button', { name: 'Send 1 comment' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`squad comment ${small} 'src/old.ts:2' 'Say '\\''two'\\'' again'`).waitFor();
  await dialog.getByLabel(/Words before them/).fill('In English, please.');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await page.waitForURL(url => /\/r\/run_/.test(url.pathname) && !url.pathname.includes(small));
  const next = new URL(page.url()).pathname.split('/')[2]!;
  const { run } = await askHub<{ run: { task: string } }>(squad, 'show_run', { run: next });
  for (const part of ['In English, please.', 'src/old.ts:2', 'zwei', "Say 'two' again"])
    expect(run.task).toContain(part);
  await page.goto(`${pages.origin}/r/${small}/changes`);
  await page.locator('.diff-row').first().waitFor();
  expect(await page.locator('.send-bar').count()).toBe(0);
});

test('they open at the line of the address', async () => {
  const page = await pages.open(`/r/${small}/changes#src/new.ts:R2`);
  await page.locator('.diff-row.is-target', { hasText: 'second' }).waitFor();
});

test('5 MB of them open, answer, and are not drawn all at once', async () => {
  const page = await pages.open(`/r/${large}/changes`);
  await page.getByText('generated.txt').first().waitFor();
  const file = page.locator('.diff-file');
  if ((await file.locator('.diff-row').count()) === 0) await file.locator('.diff-fold').click();
  await file.locator('.diff-row', { hasText: '000001 generated' }).waitFor();
  expect(await page.locator('.diff-row').count()).toBeLessThanOrEqual(2_000);
  const before = await page.locator('.diff-row').count();
  await page.getByRole('button', { name: /^Show more of its/ }).click();
  await expect.poll(() => page.locator('.diff-row').count()).toBeGreaterThan(before);
  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  await page.locator('.step').first().waitFor();
});
