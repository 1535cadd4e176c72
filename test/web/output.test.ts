import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const MAX_LINES = 5_000;
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);
let log: string;
let giant: string;

beforeAll(async () => {
  log = await startRun(squad, 'Log', ['report done']);
  giant = await startRun(squad, 'Giant', ['report done']);
  await squad.run(['wait', log, giant]);
  const line = (at: number) => `\u001b[3${at % 8}mline ${at}\u001b[0m of the log <b>${at}</b>\r\n`;
  writeFileSync(stdoutOf(log), Array.from({ length: 50_000 }, (_, at) => line(at + 1)).join(''));
  writeFileSync(stdoutOf(giant), 'first\nsecond needle\n');
  truncateSync(stdoutOf(giant), 2 ** 30);
  appendFileSync(stdoutOf(giant), '\nneedle in the end\nlast\n');
});

const stdoutOf = (run: string): string => join(squad.home, 'runs', run, 'turn-1', 'stdout');
const firstLine = async (page: Page) => (await page.locator('.out-line').first().textContent()) ?? '';
const told = (page: Page) => page.locator('.out-search [role=status]');

test('output appears as it is written, followed until somebody scrolls up, and again on request', {
  tags: ['D9'],
}, async () => {
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `say step ${from + at} of it`);
  const run = await startRun(squad, 'Live', [
    ...[...lines(1, 100), 'await go-1', ...lines(101, 20), 'await go-2', ...lines(121, 1)],
  ]);
  const page = await webUi.open(`/r/${run}/output`);
  const out = page.locator('.out');
  await out.getByText('step 100 of it').waitFor();
  await expect.poll(() => below(page)).toBeLessThan(2);
  await out.hover();
  await page.mouse.wheel(0, -600);
  await page.locator('.out-below').waitFor();
  const before = await out.evaluate(box => box.scrollTop);
  squad.write('go-1', '');
  await page.getByRole('button', { name: /\b20 new lines/ }).waitFor();
  expect(await out.evaluate(box => box.scrollTop)).toBe(before);
  await page.keyboard.press('f');
  await page.locator('.out-below').waitFor({ state: 'detached' });
  squad.write('go-2', '');
  await out.getByText('step 121 of it').waitFor();
  await expect.poll(() => below(page)).toBeLessThan(2);
  await page.locator('.run-facts', { hasText: 'done' }).waitFor();
});

test('lines that wrap are followed to their very end, and open there when the run is over', async () => {
  const lines = (from: number) =>
    Array.from(
      { length: 90 },
      (_, at) => `say row ${from + at}${at % 3 ? '' : ' and many more words'.repeat(30)}`,
    );
  const run = await startRun(squad, 'Long', [...lines(1), 'await go-long', ...lines(91), 'await go-end']);
  const live = await webUi.open(`/r/${run}/output`);
  await live.getByText('row 90', { exact: true }).waitFor();
  await expect.poll(() => below(live)).toBeLessThan(2);
  squad.write('go-long', '');
  await live.getByText('row 180', { exact: true }).waitFor();
  await expect.poll(() => below(live)).toBeLessThan(2);
  await live.locator('.out').hover();
  await live.mouse.wheel(0, -300);
  await live.locator('.out-below').waitFor();
  squad.write('go-end', '');
  await squad.run(['wait', run]);
  for (const [path, width] of [
    ['output', 1280],
    ['output', 360],
    ['output?raw=1', 1280],
  ] as const) {
    const page = await webUi.open(`/r/${run}/${path}`, { width });
    await page.locator('.out-line').last().waitFor();
    await expect.poll(() => below(page)).toBeLessThan(2);
    await twoFrames(page);
    expect(await below(page)).toBeLessThan(2);
    expect(await page.locator('.out-below').count()).toBe(0);
    await page.keyboard.press('w');
    await page.locator('.out:not(.is-wrapped)').waitFor();
    await page.keyboard.press('w');
    await expect.poll(() => below(page)).toBeLessThan(2);
  }
});

test('a word is gone to in the words of an engine too, where all that follows it is at hand', async () => {
  const run = await startRun(
    squad,
    'Words',
    Array.from({ length: 1_500 }, (_, at) => `say word${at} ${'x '.repeat(at % 7 ? 1 : 200)}`),
  );
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}/output`);
  await page.getByText('word1499').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('word1300');
  await page.keyboard.press('Enter');
  const target = page.locator('.out-line.is-target', { hasText: 'word1300' });
  await expect.poll(() => target.evaluate(isVisible)).toBe(true);
  await twoFrames(page);
  expect(await target.evaluate(isVisible)).toBe(true);
  await page.getByRole('button', { name: /^Go to the end/ }).click();
  await expect.poll(() => below(page)).toBeLessThan(2);
});

test('long lines stay as they were turned, also after a reload', async () => {
  const page = await webUi.open(`/r/${log}/output?raw=1`);
  await page.locator('.out.is-wrapped').waitFor();
  await page.keyboard.press('w');
  await page.locator('.out:not(.is-wrapped)').waitFor();
  await page.reload();
  await page.locator('.out-line').first().waitFor();
  expect(await page.getByRole('button', { name: 'wrap' }).getAttribute('aria-pressed')).toBe('false');
});

test('on a narrow screen the bar of views shows the one that is open', async () => {
  const page = await webUi.open(`/r/${log}/details`, { width: 250 });
  const isShown = () =>
    page.locator('.tabs').evaluate(bar => {
      const box = bar.getBoundingClientRect();
      const { left, right } = bar.querySelector('[aria-current]')!.getBoundingClientRect();
      return left >= box.left && right <= box.right;
    });
  await expect.poll(isShown).toBe(true);
  await page.keyboard.press('1');
  await page.locator('.tabs [aria-current]', { hasText: 'Activity' }).waitFor();
  await expect.poll(isShown).toBe(true);
});

test('a flood of 50,000 lines leaves the tab with 5,000 and able to do what is asked of it', {
  tags: ['D9'],
}, async () => {
  const flood = squad.script(
    'flood.sh',
    'awk \'BEGIN{for(i=1;i<=50000;i++)print "flood line " i}\'\nsleep 600',
  );
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'Flood'], {
    env: { ENGINE_COMMAND: '', RUN_TEMPLATE: flood },
  });
  const page = await webUi.open(`/r/${runIds[0]}/output`);
  await page.locator('.out-line', { hasText: /^flood line 50000$/ }).waitFor();
  expect(await page.locator('.out-line').count()).toBeLessThanOrEqual(MAX_LINES);
  await page.getByRole('link', { name: 'Details', exact: true }).click();
  await page.getByRole('heading', { name: 'Task' }).waitFor();
  await page.keyboard.press('c');
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('.run-facts', { hasText: 'cancelled' }).waitFor();
});

test('50,000 lines open at their end and are walked through, never more than 5,000 of them at a time', async () => {
  const page = await webUi.open(`/r/${log}/output?raw=1`);
  await page.locator('.out-line', { hasText: 'line 50000 of' }).waitFor();
  for (let round = 0; round < 5; round++) {
    const first = await firstLine(page);
    await page.locator('.out').evaluate(element => element.scrollTo(0, 0));
    await expect.poll(() => firstLine(page)).not.toBe(first);
    expect(await page.locator('.out-line').count()).toBeLessThanOrEqual(MAX_LINES);
  }
  await page.keyboard.press('f');
  await expect
    .poll(() => page.locator('.out-line').last().textContent())
    .toBe('line 50000 of the log <b>50000</b>');
});

test('the view opens at the line of the address, and goes where the address goes', async () => {
  const page = await webUi.open(`/r/${log}/output#L120`);
  const target = page.locator('.out-line.is-target');
  await expect.poll(() => target.textContent()).toBe('line 120 of the log <b>120</b>');
  await expect.poll(() => target.evaluate(isVisible)).toBe(true);
  await page.evaluate(() => {
    location.hash = '#L33333';
  });
  await expect.poll(() => target.textContent()).toContain('line 33333 of');
  await expect.poll(() => target.evaluate(isVisible)).toBe(true);
});

test('output is searched by keys, back and forth, as text and as a pattern', async () => {
  const page = await webUi.open(`/r/${log}/output?raw=1`);
  await page.locator('.out-line').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('LINE 4999');
  await page.keyboard.press('Enter');
  await expect.poll(() => told(page).textContent()).toContain('1 of 11, line 4999');
  await page.keyboard.press('Enter');
  await expect.poll(() => told(page).textContent()).toContain('2 of 11, line 49990');
  await page.locator('.out-line.is-target', { hasText: 'line 49990 of' }).waitFor();
  await page.keyboard.press('Shift+Enter');
  await expect.poll(() => told(page).textContent()).toContain('1 of 11');
  const box = page.locator('.out-search input');
  await page.getByRole('button', { name: 'Regular expression' }).click();
  await box.fill('^line \\d7777 ');
  await box.press('Enter');
  await expect.poll(() => told(page).textContent()).toContain('1 of 4, line 17777');
  await box.fill('(e+l*)+\\1$');
  await box.press('Enter');
  await expect.poll(() => told(page).textContent()).toMatch(/No matches|takes too long/);
});

test('a GiB opens, has its numbers, and is searched to its end', async () => {
  const page = await webUi.open(`/r/${giant}/output?raw=1`);
  await page.locator('.out-line', { hasText: 'last' }).waitFor();
  await page.locator('.has-numbers').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('needle in');
  await page.keyboard.press('Enter');
  await expect.poll(() => told(page).textContent()).toContain('line 4');
});

const below = (page: Page) =>
  page.locator('.out').evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight);

/** Waits until effects of the first rendering have run. */
const twoFrames = (page: Page) =>
  page.evaluate(
    () => new Promise<void>(done => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
  );

const isVisible = (line: Element) => {
  const { top, bottom } = line.getBoundingClientRect();
  const box = line.closest('.out')!.getBoundingClientRect();
  return top >= box.top && bottom <= box.bottom;
};
