import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { nested, ownServer, Subagents, said } from '../support/subagents.ts';
import { seriousFindings, WebUi } from '../support/web-ui.ts';

const HOSTILE = '<img src=x onerror=alert(1)> \u001b[31mred\u001b[0m \u202egnp.exe';
const LONG = 9_000;
const HAS_SANDBOX = process.platform === 'linux' && existsSync('/usr/bin/bwrap');

let subagents: Subagents;
let webUi: WebUi;
let run: string;
let child: string;
beforeAll(async () => {
  subagents = await Subagents.start();
  webUi = new WebUi(subagents.squad);
  await webUi.start();
  subagents.write('asker');
  subagents.write('outer', {
    more: { system_prompt: 'You are careful.' },
    servers: { echo: ownServer('echo'), below: nested(join(subagents.squad.workspace, 'asker.yaml')) },
  });
  const prompt = `Find it. ${mock([
    { text: `I look. ${HOSTILE}`, call: 'echo', arguments: { nonce: 'n-1', bytes: LONG } },
    { call: 'asker', arguments: { prompt: mock([{ text: 'from below' }]) } },
    { text: 'All done.' },
  ])}`;
  const client = await subagents.client('outer');
  await said(client, client.call('outer', { prompt }));
  await client.close();
  const runs = await subagents.runs();
  run = runs.find(({ options }) => options.subagent === 'outer')!.id;
  child = runs.find(({ options }) => options.subagent === 'asker')!.id;
});
afterEach(() => webUi.closeAll());
afterAll(async () => {
  await webUi.browser?.close();
  await subagents[Symbol.asyncDispose]();
});

const open = (of: string, width?: number) => webUi.open(`/r/${of}/conversation`, { width });
const rows = (page: Page) =>
  page.locator('.said-name').evaluateAll(all => all.map(each => each.firstChild!.textContent));

test('shows what was said in order, calls folded with what they were given and gave back', async () => {
  const page = await open(run);
  await page.getByText('All done.', { exact: true }).waitFor();
  expect((await rows(page)).filter(name => name !== 'System')).toEqual(['Prompt', 'Model', 'Model', 'Model']);
  const call = page.locator('.said-call').first();
  expect(await call.locator('summary').innerText()).toMatch(/echo__echo .*"nonce":"n-1".* done/);
  expect(await call.locator('.said-value').first().isVisible()).toBe(false);
  await call.locator('summary').focus();
  await page.keyboard.press('Enter');
  await call.locator('.said-value').nth(1).waitFor();
  expect(await call.locator('.said-value').nth(1).innerText()).toContain('n-1');
  expect(await page.locator('.said-parts').allInnerTexts()).toContainEqual(
    expect.stringContaining('<img src=x onerror=alert(1)> red <U+202E>gnp.exe'),
  );
});

test('a long piece is cut until all of it is asked for', async () => {
  const page = await open(run);
  const call = page.locator('.said-call').first();
  await call.locator('summary').click();
  const value = call.locator('.said-value').nth(1);
  expect((await value.locator('div.plain').innerText()).length).toBeLessThan(5_000);
  await value.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(async () => (await value.locator('div.plain').innerText()).length).toBeGreaterThan(LONG);
});

test('a call leads to the run that it started', async () => {
  const page = await open(run);
  await page.locator('.said-nested a').click();
  await page.getByText('from below', { exact: true }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/r/${child}/conversation`);
});

test.runIf(HAS_SANDBOX)(
  'shows below a program what it called, as any other call',
  { tags: ['E8'] },
  async () => {
    subagents.write('programmer', {
      servers: { echo: ownServer('echo') },
      more: { defaults: { model: 'main', codeMode: { enabled: true } } },
    });
    const program = `await Promise.all(['c-1', 'c-2'].map(nonce => tools.echo__echo({ nonce })));
try { await tools.echo__count({}) } catch {}`;
    const steps = [{ call: 'run_program', arguments: { program } }, { text: 'It ran.' }];
    const client = await subagents.client('programmer');
    await said(client, client.call('programmer', { prompt: mock(steps, 'programmed') }));
    await client.close();
    const programmed = (await subagents.runs()).find(({ task }) => task.includes('"programmed"'))!.id;
    const page = await open(programmed);
    await page.getByText('It ran.', { exact: true }).waitFor();
    expect((await rows(page)).filter(name => name !== 'System')).toEqual(['Prompt', 'Model', 'Model']);
    const made = page.locator('.said-made');
    expect(await made.locator(':scope > summary').innerText()).toBe('3 calls in the program, 1 failed');
    const calls = made.getByRole('list', { name: 'Tool calls of the program' }).locator('.said-call summary');
    expect(await calls.allInnerTexts()).toEqual([
      expect.stringMatching(/^echo__echo .*c-1.* done$/),
      expect.stringMatching(/^echo__echo .*c-2.* done$/),
      expect.stringMatching(/^echo__count .* failed$/),
    ]);
    await calls.last().click();
    await made.getByText('COUNT_FILE is not set').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  },
);

test('grows while it is looked at, and is there until the end without a reload', {
  tags: ['E8'],
}, async () => {
  const client = await subagents.client('outer');
  const echo = (nonce: string) => ({
    text: `Now ${nonce}.`,
    call: 'echo',
    arguments: { nonce, delayMs: 1_000 },
  });
  const id = client.call('outer', {
    prompt: mock([echo('one'), echo('two'), echo('three'), { text: 'Over.' }], 'live'),
  });
  await subagents.model.waitForRequest(({ tag }) => tag === 'live');
  const live = (await subagents.runs()).find(({ task }) => task.includes('"live"'))!.id;
  const page = await open(live);
  await page.getByText('Now one.', { exact: true }).waitFor();
  await page.evaluate(() => Object.assign(globalThis, { isSame: true }));
  await page.getByText('Now three.', { exact: true }).waitFor();
  // The end may be shown above the messages, too.
  const messages = page.getByRole('list', { name: 'Messages' });
  await messages.getByText('Over.', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.said-call summary', { hasText: 'done' }).count()).toBe(3);
  expect(await page.evaluate(() => 'isSame' in globalThis)).toBe(true);
  await said(client, id);
  await client.close();
});

test('is headed by the subagent and its task, which is shown once', async () => {
  const page = await open(run);
  const head = page.locator('.run-head h1');
  await head.waitFor();
  expect(await head.locator('.run-role').innerText()).toBe('outer');
  expect(await head.innerText()).toMatch(/^outer\s+Find it\./);
  await page.locator('.run-children').getByRole('link', { name: 'asker' }).waitFor();
  await page.getByRole('link', { name: 'Details' }).click();
  await page.getByText(join(subagents.squad.workspace, 'outer.yaml')).waitFor();
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.locator(`[data-run=${run}] .run-role`, { hasText: 'outer' }).waitFor();
});

test('is one of the views of the run, by key, and only of runs that have one', async () => {
  const page = await webUi.open(`/r/${run}`);
  await page.getByRole('link', { name: 'Conversation' }).waitFor();
  await page.keyboard.press('2');
  await page.locator('.talk').waitFor();
  await page.keyboard.press(']');
  await page.waitForURL(`**/r/${run}/output`);
  const started = ['run', '-d', '--engine', 'scripted', 'coder', 'Say hello'];
  const { runIds } = await subagents.squad.json<{ runIds: string[] }>(started);
  await webUi.enter(page, `/r/${runIds[0]}`);
  await page.getByRole('link', { name: 'Output' }).waitFor();
  expect(await page.getByRole('link', { name: 'Conversation' }).count()).toBe(0);
});

test('can be used by everybody, in light and in dark, and is as wide as a phone', async () => {
  const page = await open(run);
  await page.locator('.said-call').nth(1).waitFor();
  for (const fold of await page.locator('.said-fold > summary').all()) await fold.click();
  expect(await seriousFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await seriousFindings(page, ['color-contrast'])).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test('a run in which nothing was said yet says so', async () => {
  const client = await subagents.client('asker', { env: { MODEL_KEY: 'fake' } });
  const id = client.call('asker', { prompt: mock([{ status: 401 }], 'refused'), inputs: ['/nowhere.txt'] });
  await client.answer(id);
  await client.close();
  const refused = (await subagents.runs()).find(({ task }) => task.includes('"refused"'))!.id;
  const page = await open(refused);
  await page.locator('.empty-title').waitFor();
  expect(await page.locator('.empty').innerText()).toContain(`squad log ${refused}`);
});

test('is in the saved page, whole', async () => {
  const { stdout } = await subagents.squad.run(['export', run]);
  const context = await webUi.browser.newContext({ offline: true });
  const page = await context.newPage();
  await page.goto(`${pathToFileURL(stdout.trim()).href}#/r/${run}/conversation`);
  await page.getByText('All done.', { exact: true }).waitFor();
  await page.locator('.said-call summary').first().click();
  const value = page.locator('.said-value').nth(1);
  expect((await value.innerText()).length).toBeGreaterThan(LONG);
  expect(await page.locator('.problem, [role=alert]').count()).toBe(0);
  await context.close();
});
