import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad } from '../support/git-squad.ts';
import { seriousFindings, startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({
  coder: '---\ndescription: Writes the code\n---\nYou code.',
  tester: '---\ndescription: Breaks the code\n---\nYou test.',
});
squad.write('.squad/backlog.md', '## Next\n\n- [ ] Keep thumbnails @tester\n- [x] Measure uploads\n');
const webUi = useWebUi(squad);

interface Shown {
  runs: { id: string; roleId: string; title: string; squadId: string }[];
  squad: { metadata: { name?: string } | null };
}
const shown = (url: string) =>
  askHub<Shown>(squad, 'show_squad', { squad: new URL(url).pathname.split('/')[2]! });

test('four agents with a name are started by keys alone, and again like that', async () => {
  await startRun(squad, 'Be here', ['report done']);
  const page = await webUi.open('/');
  await page.locator('.board > li').first().waitFor();
  await page.keyboard.press('N');
  await page.getByRole('dialog', { name: 'Start a run' }).getByText('Writes the code').waitFor();
  await page.getByRole('dialog').locator('.start-applies', { hasText: 'coder: scripted' }).waitFor();
  for (const number of [1, 2, 3, 4]) {
    // Nobody waits for the new field before typing on.
    await page.keyboard.type(`Part ${number}`);
    if (number < 4) await page.keyboard.press('Control+Shift+Enter');
  }
  const dialog = page.getByRole('dialog', { name: 'Start a squad of 4' });
  await dialog.waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.setViewportSize({ width: 1440, height: 900 });
  await dialog.getByLabel('Name of the squad').fill('Night shift');
  await dialog.getByText("--name 'Night shift'").waitFor();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/s\/squad_/);
  await page.getByRole('heading', { name: 'Night shift' }).waitFor();
  const first = await shown(page.url());
  expect(first.runs.map(({ title }) => title).sort()).toEqual(['Part 1', 'Part 2', 'Part 3', 'Part 4']);
  expect(first.squad.metadata).toEqual({ name: 'Night shift' });

  await page.keyboard.press('R');
  await dialog.waitFor();
  expect(await dialog.getByLabel('Task 4').inputValue()).toBe('Part 4');
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(
    url => url.pathname.startsWith('/s/') && !url.pathname.includes(first.runs[0]!.squadId),
  );
  expect((await shown(page.url())).runs).toHaveLength(4);
});

test('a member comes from the backlog, has an engine and a work tree of its own, and can be removed', async () => {
  const page = await webUi.open('/');
  await page.locator('.board > li').first().waitFor();
  await page.keyboard.press('N');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Task').fill('Write it');
  await dialog.getByLabel('Add from the backlog').selectOption('Keep thumbnails');
  await expect.poll(() => dialog.getByLabel('Task 2').inputValue()).toContain('Keep thumbnails');
  expect(await dialog.getByLabel('Role 2').inputValue()).toBe('tester');
  await dialog.getByLabel('Work tree 2').check();
  await dialog.getByLabel('Engine 2').selectOption('scripted');
  await dialog.getByText('No single command starts members with different options.').waitFor();
  await dialog.getByRole('button', { name: 'Add member' }).click();
  await dialog.getByRole('button', { name: 'Remove member 3' }).click();
  await dialog
    .locator('.start-applies', { hasText: 'tester: scripted, own work tree, at most 30m' })
    .waitFor();
  await dialog
    .locator('.start-applies', { hasText: 'coder: scripted, in the folder, at most 30m' })
    .waitFor();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/s\/squad_/);
  const { runs } = await shown(page.url());
  expect(runs.map(({ roleId }) => roleId).sort()).toEqual(['coder', 'tester']);

  // A squad like it has the same options.
  await page.getByRole('button', { name: 'Again, like this' }).click();
  await dialog.locator('.start-applies', { hasText: 'tester: scripted, own work tree' }).waitFor();
  expect(await dialog.getByLabel('Role 2').inputValue()).toBe('tester');
  expect(await dialog.getByLabel('Engine 2').inputValue()).toBe('scripted');
  expect(await dialog.getByLabel('Work tree 2').isChecked()).toBe(true);
  expect(await dialog.getByLabel('Work tree 1').isChecked()).toBe(false);
});

test('a squad has the name that the command line gave it', async () => {
  const { stdout } = await squad.run([
    'run',
    'coder',
    'One',
    'tester',
    'Two',
    '--name',
    'By hand',
    '--detach',
  ]);
  const { run } = await askHub<{ run: { squadId: string } }>(squad, 'show_run', {
    run: stdout.split('\n')[0]!,
  });
  const page = await webUi.open(`/s/${run.squadId}`);
  await page.getByRole('heading', { name: 'By hand' }).waitFor();
});
