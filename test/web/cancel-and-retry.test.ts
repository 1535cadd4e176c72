import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { TestSquad } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

const runOf = async (run: string) =>
  (await askHub<{ run: { status: string; lineageId: string; task: string } }>(squad, 'show_run', { run }))
    .run;

test('cancelling says its effect and its command first, and does nothing when it is not wanted', {
  tags: ['D9'],
}, async () => {
  const run = await startRun(squad, 'Work on', ['say at it', 'hang']);
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${run}]`);
  await row.getByText('running', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Cancel Work on' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel: Work on' });
  await dialog.getByText(/Stops this agent/).waitFor();
  await dialog.getByText(`squad cancel ${run}`, { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Not now' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await runOf(run)).status).toBe('running');

  await row.getByRole('button', { name: 'Cancel Work on' }).click();
  await dialog.getByRole('button', { name: 'Cancel the run' }).click();
  await row.getByText('cancelled', { exact: true }).waitFor();
  expect((await runOf(run)).status).toBe('cancelled');
});

test('a failed run says what failed, how it ended, its last words, and is started anew', async () => {
  const run = await startRun(squad, 'Break', ['stderr error: the disk <b>is</b> full', 'fail no room left']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  const failure = page.locator('.failure');
  for (const words of ['no room left', 'exit 1', 'error: the disk <b>is</b> full', 'as a new run'])
    await failure.getByText(words).first().waitFor();
  await page.keyboard.press('r');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/as a new run/).waitFor();
  await dialog.getByText(`squad retry ${run}`).waitFor();
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await page.waitForURL(url => /\/r\/run_/.test(url.pathname) && !url.pathname.includes(run));
  const next = new URL(page.url()).pathname.split('/')[2]!;
  await page.locator('.run-facts', { hasText: 'failed' }).waitFor();
  expect(await runOf(next)).toMatchObject({ lineageId: run, status: 'error' });

  await page.getByText('retry of').getByRole('link', { name: run }).click();
  const since = page.getByRole('list', { name: 'Later attempts' });
  await since.getByText('failed').waitFor();
  await since.getByRole('link', { name: next }).waitFor();
});

test('a run that is open hears at once that it was retried elsewhere, and how that goes on', async () => {
  const run = await startRun(squad, 'Enough', ['say done']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  await page.locator('.run-facts', { hasText: 'done' }).waitFor();
  const { runIds } = await squad.json<{ runIds: string[] }>(['retry', '-d', run]);
  const since = page.getByRole('list', { name: 'Later attempts' });
  await since.getByRole('link', { name: runIds[0]! }).waitFor();
  await since.getByText('done').waitFor();
});

test('a run cancelled in one tab is shown as cancelled in another', async () => {
  const run = await startRun(squad, 'Seen by two', ['hang']);
  const [first, second] = [await webUi.open(`/r/${run}`), await webUi.open('/')];
  await second.locator(`[data-run=${run}]`).getByText('running', { exact: true }).waitFor();
  await first.getByRole('button', { name: /^Cancel/ }).click();
  await first.getByRole('button', { name: 'Cancel the run' }).click();
  await second.locator(`[data-run=${run}]`).getByText('cancelled', { exact: true }).waitFor();
  await first.locator('.run-facts', { hasText: 'cancelled' }).waitFor();
});

test('a run can be started from the web UI', async () => {
  // The web UI has no environment that could select an engine.
  squad.write('.squad/agents/host.md', '---\nengine: scripted\n---\nYou say hello.');
  await squad.run(['trust', '-y', '.squad/agents/host.md']);
  const page = await webUi.open('/');
  await page
    .getByRole('button', { name: /^start a run/i })
    .first()
    .waitFor();
  await page.keyboard.press('N');
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Task').fill('Say hello\n```script\nreport hello from the page\n```');
  await dialog.getByRole('combobox', { name: 'Folder' }).fill(squad.workspace);
  await dialog.getByLabel('Role').selectOption('host');
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/r\/run_/);
  await page.getByText('hello from the page').first().waitFor();
});

test('a run that is removed while it is looked at says so, and offers nothing any more', async () => {
  squad.write('.squad/agents/coder.md', '---\nengine: scripted\n---\nYou code.');
  await squad.run(['trust', '-y', '.squad/agents/coder.md']);
  const run = await startRun(squad, 'Soon gone', ['say something', 'report done']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}/output`);
  await page.getByRole('button', { name: /^Retry/ }).waitFor();
  // The web UI requests the removed run once more, and the browser logs the 404.
  webUi.expectErrors(/404/);
  await squad.run(['prune', '--days', '0']);
  await page.getByText('This run was removed').waitFor();
  await page.getByRole('heading', { name: 'Soon gone' }).waitFor();
  await page.getByRole('button', { name: /^(Retry|Reply)/ }).waitFor({ state: 'detached' });
  expect(await page.getByText(/Nothing on stdout|There is no run/).count()).toBe(0);
});
