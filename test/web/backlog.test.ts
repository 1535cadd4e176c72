import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
const text = () => readFileSync(join(squad.workspace, '.squad/backlog.md'), 'utf8');

beforeAll(async () => {
  squad.write('.squad/backlog.md', '## Now\n\n- [ ] Retry\n- [ ] Limits\n\n## Later\n\n- [ ] Icons\n');
  await squad.run(['wait', await startRun(squad, 'Anything', ['report done'])]);
});

test('an item is added, marked and moved; what will happen is said first', async () => {
  const page = await webUi.open('/backlog');
  await page.getByRole('button', { name: 'Add an item' }).click();
  const dialog = page.locator('dialog[open]');
  await dialog.getByText('Adds one line to .squad/backlog.md').waitFor();
  await dialog.getByLabel('Title').fill('Ship it [P1]');
  await dialog.getByLabel('Owner').fill('ann');
  await dialog.getByLabel('Under').selectOption('Later');
  await dialog.getByText("squad backlog add 'Ship it [P1]' --owner ann --under Later").waitFor();
  await dialog.getByRole('button', { name: 'Add' }).click();
  await page.locator('.backlog-item', { hasText: 'Ship it' }).getByText('@ann').waitFor();
  await page.getByRole('button', { name: 'Mark as done: Retry' }).click();
  await dialog.getByText('Nothing else in the file changes.').waitFor();
  await dialog.getByRole('button', { name: 'Mark as done' }).click();
  await page.getByRole('button', { name: 'Reopen: Retry' }).waitFor();
  await page.getByRole('button', { name: 'Move down: Retry' }).click();
  await until('it is moved', () => text().indexOf('Limits') < text().indexOf('Retry'));
  expect(text()).toBe(
    '## Now\n\n- [ ] Limits\n- [x] Retry\n\n## Later\n\n- [ ] Icons\n- [ ] Ship it [P1] @ann\n',
  );
});

test('a missing folder is reported in terms of the web UI, not of HTTP headers', async () => {
  webUi.expectErrors(/4\d\d/);
  const page = await webUi.open('/backlog?w=/nope');
  const problem = page.getByRole('alert');
  await problem.getByText('Folder /nope does not exist.').waitFor();
  await problem.getByText('Choose another folder.').waitFor();
  expect(await problem.innerText()).not.toContain('header');
  await page.getByLabel('Workspace').selectOption('all workspaces');
  await page.locator('.backlog-item').first().waitFor();
});

test('a file that was changed meanwhile is not written, and shown as it is now', async () => {
  webUi.expectErrors(/409/);
  const page = await webUi.open('/backlog');
  const button = page.getByRole('button', { name: /: Icons$/ }).first();
  await button.waitFor();
  squad.write('.squad/backlog.md', `- [ ] By hand\n${text()}`);
  await page.getByRole('button', { name: 'Mark as done: Icons' }).click();
  const dialog = page.locator('dialog[open]');
  await dialog.getByRole('button', { name: 'Mark as done' }).click();
  await dialog.getByText('was changed in the meantime').waitFor();
  await page.locator('.backlog-item', { hasText: 'By hand' }).waitFor();
  expect(text()).toContain('- [ ] Icons');
});
