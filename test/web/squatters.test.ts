import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { Squatter, type SquatterKind } from '../support/squatter.ts';
import { useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
let squatter: Squatter | null = null;

afterEach(async () => {
  await squatter?.leave();
  squatter = null;
});

test.each<SquatterKind>(['answers', 'resets', 'hangs'])(
  'a squatter that %s gets nothing from a tab of the hub before that the next hub accepts',
  async kind => {
    webUi.expectErrors(/./);
    const page = await webUi.open('/');
    await page.locator('.connection.live').waitFor();
    // A tab that was frozen or discarded could not clean up: all that it stored counts.
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    const { origin } = webUi;
    await squad.run(['hub', 'stop']);
    squatter = await Squatter.take(Number(new URL(origin).port), kind);
    await page.locator('.banner').waitFor();
    expect(squatter.heard.join('\n')).not.toContain('authorization');
    await page.reload();
    await expect.poll(() => squatter!.loot.length).toBeGreaterThan(0);
    const { loot, heard } = squatter;
    await squatter.leave();
    squatter = null;

    await webUi.restart();
    const hosts = [origin, webUi.origin].map(each => new URL(each).host);
    expect(await accepted([kept, ...loot, ...heard], hosts)).toEqual([]);
    // While it was not certain who answers, storage held nothing that could be a secret.
    expect(secretsIn(loot)).toEqual([]);
  },
);

test('a worker that a squatter left in the browser does not get the key of the next `squad open`', {
  tags: ['S2'],
}, async () => {
  webUi.expectErrors(/./);
  const { port } = new URL(webUi.origin);
  const before = await webUi.open('/');
  await before.locator('.connection.live').waitFor();
  await squad.run(['hub', 'stop']);
  squatter = await Squatter.take(Number(port), 'answers');
  // The two places that it can know of: the address of the port, and the name that the open tab asks for.
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`, webUi.origin]) {
    const trap = await webUi.blank({ beside: before });
    await trap.goto(origin);
    await trap.locator('[data-worker=ready]').waitFor();
  }
  await squatter.leave();
  squatter = null;

  await webUi.restart();
  const address = await webUi.address();
  expect(new URL(address).port).toBe(port);
  const page = await webUi.blank({ beside: before });
  await page.goto(address);
  await page.locator('.connection.live').waitFor();
  expect(await page.locator('[data-took]').count()).toBe(0);
});

test('a worker left at the address of the port is gone once the browser has asked the hub there', {
  tags: ['D9'],
}, async () => {
  webUi.expectErrors(/./);
  const { port } = new URL(webUi.origin);
  await squad.run(['hub', 'stop']);
  squatter = await Squatter.take(Number(port), 'answers');
  const page = await webUi.blank();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.locator('[data-worker=ready]').waitFor();
  await squatter.leave();
  squatter = null;

  await webUi.restart();
  // The worker answers this page, but opening it makes the browser ask the hub whether the worker has changed. The
  // browser asks once for each opening, and gives up if the machine is too busy to answer.
  const workers = async () => {
    await page.goto(`http://127.0.0.1:${port}/`);
    return page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length);
  };
  await expect.poll(workers, { interval: 2_000, timeout: 60_000 }).toBe(0);
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.getByText('To open the web UI, run `squad open`.').waitFor();
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).toBe('{}');
});

/** Long enough to be hard to guess. */
const secretsIn = (texts: string[]): string[] => [
  ...new Set(
    texts.flatMap(text => text.match(/[\w.-]{32,}/g) ?? []).filter(word => !/localhost$/.test(word)),
  ),
];

/** Everything in there that the hub takes for a token, at the address of its port or at these hosts. */
async function accepted(texts: string[], hosts: string[]): Promise<string[]> {
  const { port } = new URL(webUi.origin);
  const found: string[] = [];
  for (const secret of secretsIn(texts))
    for (const host of [`127.0.0.1:${port}`, ...hosts]) {
      const headers = { host, authorization: `Bearer ${secret}` };
      const status = await new Promise<number>((settle, reject) => {
        const sent = request({ host: '127.0.0.1', port, path: '/api/runs', headers }, response => {
          response.resume();
          settle(response.statusCode!);
        });
        sent.on('error', reject).end();
      });
      if (status < 400) found.push(`${secret} at ${host}`);
    }
  return found;
}
