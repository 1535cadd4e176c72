import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { chromium } from 'playwright-core';
import { expect, test } from 'vitest';
import { chromiumOptions } from '../support/chromium.ts';
import { TestSquad } from '../support/squad.ts';
import { Squatter } from '../support/squatter.ts';
import { webKey } from '../support/web-key.ts';
import { useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
const tokenOf = () => readFileSync(join(squad.home, 'token'), 'utf8').trim();

test('a program that takes the port of a stopped hub gets proof requests only, and no token', {
  tags: ['D9', 'S2'],
}, async () => {
  webUi.expectErrors(/ERR_|WebSocket|403|404|preload|dynamically imported|request to/);
  const kept = () => page.evaluate(() => Object.values(sessionStorage).join());
  const page = await webUi.open('/');
  await page.locator('.connection.live').waitFor();
  const token = await kept();
  expect(token).not.toBe('');
  const { origin } = webUi;
  await squad.run(['hub', 'stop']);
  const squatter = await Squatter.take(Number(new URL(origin).port), 'answers');
  await page.locator('.banner', { hasText: 'The hub that served this page has stopped' }).waitFor();
  await page.locator('.banner').getByText('squad open').waitFor();
  // Its page would find what is kept, and its script would be one of ours.
  expect(await kept()).toBe('');
  await page.getByRole('link', { name: 'Cost' }).first().click();
  const { heard } = squatter;
  const proofs = () => heard.filter(words => words.startsWith('GET /api/proof?session=')).length;
  const before = proofs();
  await expect.poll(proofs).toBeGreaterThan(before + 1);
  expect(heard.join('\n')).not.toContain(token);
  expect(heard).toHaveLength(proofs());

  // To the browser, a tab of the squatter's is a tab of ours.
  const beside = await webUi.blank({ beside: page });
  await beside.goto(origin);
  await beside.evaluate(() => {
    const channel = new BroadcastChannel('squad-token');
    channel.onmessage = ({ data }) => document.body.setAttribute('data-got', JSON.stringify(data));
    channel.postMessage({ ask: true });
  });
  const then = proofs();
  await expect.poll(proofs).toBeGreaterThan(then);
  expect(await beside.locator('body').getAttribute('data-got')).toBeNull();
  await beside.close();

  // The next hub is another one too: only `squad open` can lead there.
  await squatter.leave();
  await webUi.restart();
  expect(webUi.origin).not.toBe(origin);
  expect(new URL(webUi.origin).port).toBe(new URL(origin).port);
  await page.locator('.banner', { hasText: 'The hub that served this page has stopped' }).waitFor();
  const later = await webUi.blank();
  await later.goto(origin);
  await later.getByText('This address belongs to a hub that has ended.').waitFor();
  await later.getByText('squad open').waitFor();
  await webUi.enter(page, '/cost');
  await page.locator('.connection.live').waitFor();
});

test('the history of the browser holds no token, and its key opens nothing any more', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'squad-profile-'));
  const context = await chromium.launchPersistentContext(profile, chromiumOptions());
  const page = await context.newPage();
  await page.goto(`${webUi.origin}/inbox${await webKey(squad)}`);
  await page.locator('.connection.live').waitFor();
  await context.close();
  const history = new DatabaseSync(join(profile, 'Default', 'History'), { readOnly: true });
  const urls = history
    .prepare('SELECT url FROM urls')
    .all()
    .map(({ url }) => String(url));
  history.close();
  rmSync(profile, { recursive: true, force: true });
  const visited = urls.find(url => url.includes('#key='));
  expect(visited).toBeDefined();
  expect(urls.join()).not.toContain(tokenOf());
  webUi.expectErrors(/401/);
  const again = await webUi.blank();
  await again.goto(visited!);
  await again.getByText('This tab is not signed in to the hub.').waitFor();
});
