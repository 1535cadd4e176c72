import { beforeAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
let run: string;

beforeAll(async () => {
  run = await startRun(squad, 'Say hello', ['report hello']);
  await squad.run(['wait', run]);
});

describe('a page', () => {
  test('without a token shows nothing but how to open it', async () => {
    const page = await webUi.blank();
    const asked: string[] = [];
    page.on('request', request => asked.push(new URL(request.url()).pathname));
    await page.goto(`${webUi.origin}/r/${run}`);
    await page.getByText('This tab is not signed in to the hub.').waitFor();
    await page.getByRole('button').getByText('squad open', { exact: true }).waitFor();
    expect(await page.locator('body').textContent()).not.toContain('Say hello');
    expect(asked.filter(path => path.startsWith('/api'))).toEqual([]);
  });

  test('with a wrong key is locked, and keeps nothing', async () => {
    webUi.expectErrors(/401/);
    const page = await webUi.blank();
    await page.goto(`${webUi.origin}/#key=${'x'.repeat(43)}`);
    await page.getByText('This tab is not signed in to the hub.').waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).toBe('{}');
  });

  test('gets a token for the key in its address, keeps it over a reload, and puts it nowhere else', async () => {
    const page = await webUi.open(`/r/${run}`);
    await page.getByRole('heading', { name: 'Say hello' }).waitFor();
    expect(page.url()).toBe(`${webUi.origin}/r/${run}`);
    await page.reload();
    await page.getByRole('heading', { name: 'Say hello' }).waitFor();
    const token = await page.evaluate(() => Object.values(sessionStorage).join());
    expect(token).not.toBe('');
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    expect(await page.content()).not.toContain(token);
    await page.goBack();
    expect(page.url()).not.toContain(token);
  });

  test('is let in once for an address that `squad open` prints', async () => {
    const address = await webUi.address();
    const page = await webUi.blank();
    await page.goto(address);
    await page.locator('.board li').first().waitFor();
    expect(page.url()).toBe(address.replace(/#.*/, ''));
    webUi.expectErrors(/401/);
    const other = await webUi.blank();
    await other.goto(address);
    await other.getByText('This tab is not signed in to the hub.').waitFor();
  });

  test('with a token that the hub does not know is locked, and forgets it', async () => {
    webUi.expectErrors(/401/);
    const page = await webUi.open(`/r/${run}`);
    await page.evaluate(() => {
      for (const key of Object.keys(sessionStorage)) sessionStorage.setItem(key, 'x'.repeat(43));
    });
    await page.reload();
    await page.getByText('This tab is not signed in to the hub.').waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).toBe('{}');
  });

  test('gives the token to a tab beside it, and to no other browser', async () => {
    const first = await webUi.open('/');
    const second = await webUi.blank({ beside: first });
    await second.goto(`${webUi.origin}/r/${run}`);
    await second.getByRole('heading', { name: 'Say hello' }).waitFor();
    const other = await webUi.blank();
    await other.goto(`${webUi.origin}/r/${run}`);
    await other.getByText('This tab is not signed in to the hub.').waitFor();
  });

  test('that somebody else puts in a frame is not shown', async () => {
    webUi.expectErrors(/frame|CSP/);
    const page = await webUi.blank();
    await page.goto(`${webUi.origin}/`);
    await page.evaluate(origin => {
      const frame = document.createElement('iframe');
      frame.src = origin;
      document.body.append(frame);
      return new Promise(loaded => frame.addEventListener('load', loaded));
    }, webUi.origin);
    const inner = page.frames()[1]!;
    expect(await inner.locator('main').count()).toBe(0);
  });
});

describe('an address', () => {
  test('of a run that is not there names those that come near', async () => {
    webUi.expectErrors(/404/);
    const near = `${run.slice(0, -1)}${run.endsWith('x') ? 'y' : 'x'}`;
    const page = await webUi.open(`/r/${run}`);
    await page.goto(`${webUi.origin}/r/${near}`);
    const problem = page.locator('.problem');
    await problem.getByText('RUN_UNKNOWN').waitFor();
    await problem.getByRole('link', { name: run }).click();
    await page.getByRole('heading', { name: 'Say hello' }).waitFor();
  });

  test('of nothing says so, and leads back', async () => {
    webUi.expectErrors(/404/);
    const page = await webUi.open('/no/such/place');
    await page.getByText('Page not found').waitFor();
    await page.getByRole('link', { name: 'All runs', exact: true }).click();
    await page.locator('.board li').waitFor();
    expect(page.url()).toBe(`${webUi.origin}/`);
  });

  test('of a run by the beginning of its id is the run', async () => {
    const page = await webUi.open(`/r/${run.slice(0, 10)}/details`);
    await page.getByRole('heading', { name: 'IDs and versions' }).waitFor();
    await page.locator('.details').getByText(run, { exact: true }).first().waitFor();
  });
});
