import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { TestBox } from '../support/box.ts';
import { GitSquad, script } from '../support/git-squad.ts';
import { useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({ coder: 'You code.' });
const box = new TestBox(squad);
// The web UI has no field for another ssh configuration.
const bin = join(squad.root, 'bin');
mkdirSync(bin);
writeFileSync(join(bin, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F '${box.sshConfig}' "$@"\n`, { mode: 0o755 });
squad.env.PATH = `${bin}:${squad.env.PATH}`;
const webUi = useWebUi(squad);

beforeAll(() => box.start());
beforeEach(() => squad.run(['machines', 'rm', 'box', '--lost']));
afterAll(async () => {
  const doors = box.doors();
  await box.stop();
  box.network.close();
  for (const pid of doors) process.kill(pid, 'SIGKILL');
});

const row = (page: Page) => page.locator('.machines tbody tr');
const pressed = (page: Page, key: string) => page.keyboard.press(key);

async function addBox(page: Page): Promise<void> {
  webUi.expectErrors(/the server responded with a status of 50\d/);
  await page.getByText('No machines yet').waitFor();
  await pressed(page, 'a');
  const dialog = page.getByRole('dialog', { name: 'Add a machine' });
  await dialog.getByLabel('Name', { exact: true }).fill('box');
  await dialog.getByLabel(/^Address/).fill('nowhere.invalid');
  await dialog.getByLabel(/^Labels/).fill('gpu=yes disk=large');
  await dialog.getByLabel(/^Runs at once/).fill('2');
  await dialog
    .getByText('squad machines add box nowhere.invalid --label gpu=yes --label disk=large --slots 2')
    .waitFor();
  await pressed(page, 'Enter');
  await dialog.getByText('MACHINE_UNREACHABLE').waitFor();
  await dialog.getByLabel(/^Address/).fill('box');
  await pressed(page, 'Enter');
  await dialog.waitFor({ state: 'detached' });
  await row(page).getByText('up', { exact: true }).waitFor();
}

test('a machine is added, checked, drained, used and removed, with keys', { tags: ['H1'] }, async () => {
  // The dialog that starts runs takes the folder from the address, until there are runs.
  const page = await webUi.open(`/machines?${new URLSearchParams({ w: squad.workspace })}`);
  await addBox(page);
  await row(page).getByText('gpu=yes,').waitFor();
  await row(page).getByText('disk=large').waitFor();
  await row(page).getByText('0 of 2').waitFor();
  await pressed(page, 'd');
  await row(page).getByText('draining').waitFor();
  await pressed(page, 'd');
  await row(page).getByText('draining').waitFor({ state: 'detached' });
  await pressed(page, 'c');
  await page.getByText('box is fine.').waitFor();

  // A run is placed there from the dialog that starts runs.
  await pressed(page, 'N');
  await page.locator('.start-applies').waitFor();
  const compose = page.getByRole('dialog', { name: 'Start a run' });
  await compose.getByLabel('Task').fill(`Wait${script('say at it', 'hang')}`);
  await compose.getByText(/^Options:/).click();
  await compose.getByLabel('Machine').selectOption('gpu=yes');
  await compose.getByText(/--on gpu=yes/).waitFor();
  await compose.getByRole('checkbox', { name: /work tree/ }).check();
  await pressed(page, 'Control+Enter');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  await page.goto(`${webUi.origin}/machines`);
  await row(page).getByText('1 of 2').waitFor();
  await page.goto(`${webUi.origin}/`);
  await page.locator('.run-words', { hasText: 'on box' }).first().waitFor();

  await page.goto(`${webUi.origin}/machines`);
  await row(page).getByText('1 of 2').waitFor();
  await pressed(page, 'x');
  const dialog = page.getByRole('dialog', { name: 'Remove box' });
  await dialog.getByText('squad machines rm box --lost').waitFor();
  await dialog.getByText('1 run is on it').waitFor();
  await pressed(page, 'Escape');
  const { runs } = await askHub<{ runs: { id: string }[] }>(squad, 'list_runs');
  for (const { id } of runs) await squad.run(['cancel', id]);
  // Its place is free a little before the run has ended, and until then the machine is in use.
  for (const { id } of runs) await squad.run(['wait', id]);
  await row(page).getByText('0 of 2').waitFor();
  await pressed(page, 'x');
  await dialog.getByText('Squad forgets the machine').waitFor();
  await pressed(page, 'Enter');
  await page.getByText('No machines yet').waitFor();
});

test('what a machine says when it is away is text', { tags: ['H1', 'hostile-box'] }, async () => {
  const page = await webUi.open('/machines');
  await addBox(page);
  const profile = join(box.home, '.profile');
  const before = readFileSync(profile, 'utf8');
  const hostile = '<img src=x onerror=alert(1)><b class=hostile>\u202e\u001b]0;taken\u0007 gone';
  writeFileSync(profile, `echo '${hostile}' >&2; exit 7\n`);
  box.network.cut();
  await row(page).getByText('away', { exact: true }).waitFor();
  await row(page).getByText('<img src=x onerror=alert(1)>').waitFor();
  expect(await page.locator('.hostile').count()).toBe(0);
  expect(await row(page).textContent()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  writeFileSync(profile, before);
  await pressed(page, 'c');
  await row(page).getByText('up', { exact: true }).waitFor();
});
