import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { installClaude, saveChat } from '../support/saved-chat.ts';
import { TestSquad, until } from '../support/squad.ts';
import { useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad();
const claude = installClaude(
  squad,
  `case "$*" in --version) echo "2.1.325 (Claude Code)"; exit;; esac
read -r prompt
echo '{"type":"result","subtype":"success","is_error":false,"result":"They are fixed."}'`,
);
const webUi = useWebUi(squad);
const PLUMS = '11111111-1111-4111-8111-111111111111';
const address = `/chats?${new URLSearchParams({ w: squad.workspace })}`;
const rows = (page: Page) => page.locator('.chats tbody tr');

test('a chat of this folder is listed and continued as a run, with keys', { tags: ['G7'] }, async () => {
  const page = await webUi.open(address);
  await page.getByText('No chats in this folder').waitFor();
  saveChat(squad, PLUMS, 'Why are the plums blue?');
  saveChat(squad, '22222222-2222-4222-8222-222222222222', 'About pears', { at: Date.now() - 3_600_000 });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await rows(page).getByText('Why are the plums blue?').waitFor();
  expect(await rows(page).count()).toBe(2);

  await page.keyboard.press('c');
  const dialog = page.getByRole('dialog', { name: 'Continue 11111111' });
  await dialog.getByLabel('Task').fill('Make them red.');
  await dialog.getByText(`squad adopt 11111111 'Make them red.'`).waitFor();
  await dialog.getByRole('checkbox').check();
  await dialog.getByText('squad adopt --fork 11111111').waitFor();
  await dialog.getByRole('checkbox').uncheck();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/r\//);
  await page.getByText('They are fixed.').first().waitFor();
  const { runs } = await askHub<{ runs: { id: string; engine: string }[] }>(squad, 'list_runs');
  expect(runs).toMatchObject([{ engine: 'claude' }]);

  await page.goto(`${webUi.origin}${address}`);
  await rows(page).filter({ hasText: 'plums' }).getByText(runs[0]!.id).waitFor();
});

test('a chat that is open elsewhere says so, and is refused with the reason', { tags: ['G7'] }, async () => {
  webUi.expectErrors(/the server responded with a status of 4\d\d/);
  saveChat(squad, PLUMS, 'Why are the plums blue?');
  const other = spawn(claude, ['--resume', PLUMS], { env: { PATH: squad.env.PATH } });
  try {
    const page = await webUi.open(address);
    await until('it is listed as open', async () => {
      await page.getByRole('button', { name: 'Refresh' }).click();
      return rows(page).getByText(`open in process ${other.pid}`).isVisible();
    });
    await page.getByRole('button', { name: 'Continue 11111111' }).click();
    const dialog = page.getByRole('dialog', { name: 'Continue 11111111' });
    await dialog.getByLabel('Task').fill('Make them red.');
    await dialog.getByRole('checkbox').uncheck();
    await page.keyboard.press('Control+Enter');
    await dialog.getByRole('alert').getByText(`in process ${other.pid}`).waitFor();
    expect(await dialog.getByLabel('Task').inputValue()).toBe('Make them red.');
  } finally {
    other.kill('SIGKILL');
    await once(other, 'exit');
  }
});
