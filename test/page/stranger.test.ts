import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { chromium } from 'playwright-core';
import { expect, test } from 'vitest';
import { chromiumOptions } from '../support/chromium.ts';
import { usePages } from '../support/page.ts';
import { pageKey } from '../support/page-key.ts';
import { TestSquad } from '../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const pages = usePages(squad);
const tokenOf = () => readFileSync(join(squad.home, 'token'), 'utf8').trim();

test('who takes the port of a hub that has gone is told nothing; the hub that is back on it is', async () => {
  pages.expectTrouble(/ERR_|WebSocket|404|preload|dynamically imported/);
  const kept = () => page.evaluate(() => Object.values(sessionStorage).join());
  const page = await pages.open('/');
  await page.locator('.connection.live').waitFor();
  await squad.run(['hub', 'stop']);
  const heard: string[] = [];
  const thief = await takePort(Number(new URL(pages.origin).port), request => {
    heard.push([request.method, request.url, JSON.stringify(request.headers)].join(' '));
  });
  await page.locator('.banner', { hasText: 'Something else answers on this port' }).waitFor();
  await page.locator('.banner').getByText('squad open').waitFor();
  // Its page would find what is kept, and its script would be one of ours.
  expect(await kept()).toBe('');
  await page.getByRole('link', { name: 'Cost' }).first().click();
  const proofs = () => heard.filter(words => words.startsWith('GET /api/proof?nonce=')).length;
  const before = proofs();
  await expect.poll(proofs, { timeout: 20_000 }).toBeGreaterThan(before + 1);
  expect(heard.join('\n')).not.toContain(tokenOf());
  expect(heard).toHaveLength(proofs());

  // To the browser, a tab of the thief's is a tab of ours.
  const beside = await pages.blank({ beside: page });
  await beside.goto(pages.origin);
  await beside.evaluate(() => {
    const channel = new BroadcastChannel('squad-token');
    channel.onmessage = ({ data }) => document.body.setAttribute('data-got', JSON.stringify(data));
    channel.postMessage({ ask: true });
  });
  const then = proofs();
  await expect.poll(proofs, { timeout: 20_000 }).toBeGreaterThan(then);
  expect(await beside.locator('body').getAttribute('data-got')).toBeNull();
  await beside.close();

  thief.closeAllConnections();
  await new Promise(closed => thief.close(closed));
  await squad.hubPid();
  await page.locator('.connection.live').waitFor();
  await page.locator('.banner').waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Cost' }).waitFor();
  await expect.poll(kept).toBe(tokenOf());
});

test('the history of the browser holds no token, and its key opens nothing any more', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'squad-profile-'));
  const context = await chromium.launchPersistentContext(profile, chromiumOptions());
  const page = await context.newPage();
  await page.goto(`${pages.origin}/inbox${await pageKey(squad.home, pages.origin)}`);
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
  pages.expectTrouble(/401/);
  const again = await pages.blank();
  await again.goto(visited!);
  await again.getByText('This tab has no key to the hub.').waitFor();
});

/** As soon as it is free. */
async function takePort(port: number, onRequest: (request: IncomingMessage) => void): Promise<Server> {
  for (const end = Date.now() + 10_000; Date.now() < end; ) {
    const server = createServer((request, response) => {
      onRequest(request);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"proof":"trust me"}');
    });
    const isTaken = await new Promise<boolean>(settle => {
      server.once('error', () => settle(false)).listen(port, '127.0.0.1', () => settle(true));
    });
    if (isTaken) return server;
    await new Promise(wake => setTimeout(wake, 20));
  }
  throw new Error(`Port ${port} did not become free`);
}
