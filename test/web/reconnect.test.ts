import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WebSocketRoute } from 'playwright-core';
import { expect, test } from 'vitest';
import { recordedPid } from '../../src/link/hub-record.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
const say = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => `say line-${from + at} of it`);

test('the web UI stays readable when its hub is killed; with the next hub it shows everything once', {
  tags: ['D9'],
}, async () => {
  webUi.expectErrors(
    /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection|403|request to/,
  );
  const run = await startRun(squad, 'Work through it', [
    ...say(1, 20),
    ...['await hub-is-dead', ...say(21, 20), 'run touch said-it', 'await hub-is-back', ...say(41, 20)],
    'ask "Go on?" yes no',
  ]);
  const board = await webUi.open('/');
  await board.locator(`[data-run=${run}]`).getByText('running', { exact: true }).waitFor();
  const page = await webUi.open(`/r/${run}/output`);
  await page.locator('.out-line', { hasText: 'line-20 of it' }).waitFor();

  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(pid));
  for (const one of [page, board]) {
    await one.locator('.banner').waitFor();
    await one.locator('.connection', { hasText: /reconnecting|offline/ }).waitFor();
  }
  await page.locator('.out-line', { hasText: 'line-20 of it' }).waitFor();
  await page.setViewportSize({ width: 360, height: 640 });
  await until('the end of the run can be scrolled above the banner', () =>
    page.evaluate(() => {
      scrollTo(0, document.documentElement.scrollHeight);
      const edges = ['.run-page', '.banner'].map(name =>
        document.querySelector(name)!.getBoundingClientRect(),
      );
      return edges[0]!.bottom <= edges[1]!.top;
    }),
  );
  await page.setViewportSize({ width: 1280, height: 800 });
  // Its agent goes on without a hub.
  writeFileSync(join(squad.workspace, 'hub-is-dead'), '');
  await until('it was said meanwhile', () => existsSync(join(squad.workspace, 'said-it')));

  // A session ends with its hub: the tabs say what to type, and can still be read.
  await webUi.restart();
  for (const one of [page, board]) {
    const banner = one.locator('.banner', { hasText: 'The hub that served this page has stopped' });
    await banner.getByText('squad open').waitFor();
  }
  await page.locator('.out-line', { hasText: 'line-20 of it' }).waitFor();
  await webUi.enter(board, '/');
  await webUi.enter(page, `/r/${run}/output`);
  for (const one of [page, board]) await one.locator('.connection.live').waitFor();
  await page.locator('.out-line', { hasText: 'line-40 of it' }).waitFor();
  writeFileSync(join(squad.workspace, 'hub-is-back'), '');
  await page.locator('.out-line', { hasText: 'line-60 of it' }).waitFor();
  const lines = await page.locator('.out-line').allTextContents();
  const numbers = lines.flatMap(text => /line-(\d+) of it/.exec(text)?.[1] ?? []).map(Number);
  expect(numbers).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));

  await board.locator(`[data-run=${run}]`).getByRole('button', { name: 'yes' }).click();
  await board.locator(`[data-run=${run}]`).getByText('done', { exact: true }).waitFor();
  await page.locator('.run-facts', { hasText: 'done' }).waitFor();
});

test('an agent whose question loses the hub brings the next one; the tab says how to open it, and runs start there', async () => {
  webUi.expectErrors(
    /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection|403|request to/,
  );
  const run = await startRun(squad, 'Ask for it', ['ask "Still there?" yes no', 'call list_roles {}']);
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${run}]`);
  await row.getByRole('button', { name: 'yes' }).waitFor();
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the agent has started the next hub', () => {
    const next = recordedPid(squad.home);
    return next !== null && next !== pid && isAlive(next);
  });
  const banner = page.locator('.banner', { hasText: 'The hub that served this page has stopped' });
  await banner.getByText('squad open').waitFor();
  await webUi.restart();
  await webUi.enter(page, '/');
  await row.getByRole('button', { name: 'yes', disabled: false }).click();
  await row.getByText('done', { exact: true }).waitFor();
  await page.keyboard.press('N');
  await page.getByRole('dialog').getByLabel('Task').fill('Say hello');
  // Nothing is started before the roles are loaded.
  await page.getByRole('dialog').locator('.twin', { hasText: 'squad run architect' }).waitFor();
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/\/r\/run_/);
});

test('a line that breaks while the hub stays is opened again, and the tab stays let in', async () => {
  const run = await startRun(squad, 'Wait for it', ['await go-on', 'report hello']);
  const page = await webUi.blank();
  const lines: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/api\/live/, line => {
    line.connectToServer();
    lines.push(line);
  });
  await webUi.enter(page, '/');
  const kept = () => page.evaluate(() => Object.values(sessionStorage).join());
  await page.locator(`[data-run=${run}]`).getByText('running', { exact: true }).waitFor();
  await page.locator('.connection.live').waitFor();
  const token = await kept();
  await lines[0]!.close({ code: 1011 });
  await expect.poll(() => lines.length).toBe(2);
  writeFileSync(join(squad.workspace, 'go-on'), '');
  await page.locator(`[data-run=${run}]`).getByText('done', { exact: true }).waitFor();
  expect(token).not.toBe('');
  expect(await kept()).toBe(token);
  await page.reload();
  await page.locator('.connection.live').waitFor();
});
