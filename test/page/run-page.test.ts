import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script, scriptOf } from '../support/git-squad.ts';

const HOSTILE = '<img src=x onerror=alert(1)><script>document.title="taken"</script>\u202e\u001b[31mred';

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
});
let browser: Browser;
let address: URL;
const opened: { page: Page; troubles: string[] }[] = [];
/** Runs the tests look at, by what they are for. */
const runs: Record<'coder' | 'failed' | 'log' | 'giant' | 'live' | 'asks', string> = {
  ...{ coder: '', failed: '', log: '', giant: '', live: '', asks: '' },
};

const start = async (task: string): Promise<string> => {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', task]);
  return runIds[0]!;
};
const stdoutOf = (run: string): string => join(squad.home, 'runs', run, 'turn-1', 'stdout');

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  await squad.unlimited();
  const told = JSON.stringify({
    ...{ feedback: `Nearly. ${HOSTILE}`, feedback_type: 'needs_work', actionable_items: [`Fix ${HOSTILE}`] },
  });
  const review = JSON.stringify({ reviewer_prompt: script(`call send_feedback ${told}`) });
  runs.coder = await start(
    `Build ${HOSTILE}${script(
      ...['write src/a.ts', '| first line', `| second ${HOSTILE}`, '| third line'],
      ...[`say words ${HOSTILE}`, `stderr loud ${HOSTILE}`, `call request_review ${review}`],
    )}${scriptOf(2, 'append src/a.ts', '| fourth line', `report All of it ${HOSTILE}`)}`,
  );
  runs.failed = await start(
    `Break${script('stderr \u001b[31merror:\u001b[0m the disk <b>is</b> full', 'fail no room left')}`,
  );
  runs.log = await start(`Log${script('report done')}`);
  runs.giant = await start(`Giant${script('report done')}`);
  await squad.run(['wait', ...Object.values(runs).filter(Boolean)]);
  const line = (at: number) => `\u001b[3${at % 8}mline ${at}\u001b[0m of the log <b>${at}</b>\r\n`;
  writeFileSync(stdoutOf(runs.log), Array.from({ length: 50_000 }, (_, at) => line(at + 1)).join(''));
  writeFileSync(stdoutOf(runs.giant), 'first\nsecond needle\n');
  truncateSync(stdoutOf(runs.giant), 2 ** 30);
  appendFileSync(stdoutOf(runs.giant), '\nneedle in the end\nlast\n');
  const { stdout } = await squad.run(['open', '--no-browser']);
  address = new URL(/http:\S+/.exec(stdout)![0]);
});
afterAll(async () => {
  await browser?.close();
  await squad[Symbol.asyncDispose]();
});

async function open(path: string, options: { width?: number; theme?: 'light' | 'dark' } = {}): Promise<Page> {
  const { width = 1200, theme = 'light' } = options;
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme });
  const page = await context.newPage();
  const troubles: string[] = [];
  opened.push({ page, troubles });
  page.on('pageerror', error => troubles.push(String(error)));
  page.on('dialog', dialog => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', message => message.type() === 'error' && troubles.push(message.text()));
  // The address of a line and the token are both in the hash: one after the other, as a link in an open page.
  await page.goto(`${address.origin}/${address.hash}`);
  await page.waitForSelector('main h1, main .empty, main table, main li');
  await page.goto(address.origin + path);
  await page.waitForSelector('.run-page');
  return page;
}
const words = (page: Page, selector: string) => page.locator(selector).allTextContents();

describe('a run', () => {
  test.each([
    ['light', 1200],
    ['dark', 360],
  ] as const)(
    'is readable in every view, %s and %d wide, and nothing in it is obeyed',
    async (theme, width) => {
      for (const tab of ['activity', 'output', 'changes', 'details', 'review']) {
        const page = await open(`/r/${runs.coder}/${tab}`, { theme, width });
        await page.waitForSelector('.step, .out-line, .diff-row, .fact, .round');
        expect(await page.locator('main').textContent()).toContain('<script>document.title="taken"</script>');
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
        const { violations } = await new AxeBuilder({ page }).analyze();
        const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
        expect(serious.map(({ id, nodes }) => `${tab} ${id}: ${nodes[0]?.html}`)).toEqual([]);
        expect(await page.title()).not.toContain('taken');
        expect(await page.locator('main img, main script').count()).toBe(0);
      }
      for (const { troubles } of opened.splice(0)) expect(troubles).toEqual([]);
    },
  );

  test('that failed says what failed, how it ended, its last words, and what to do', async () => {
    const page = await open(`/r/${runs.failed}`);
    const card = page.locator('.failure');
    await card.locator('pre').waitFor();
    const text = await card.textContent();
    for (const part of [
      'no room left',
      'exit 1',
      'error: the disk <b>is</b> full',
      `squad retry ${runs.failed}`,
    ])
      expect(text).toContain(part);
    await page.keyboard.press('r');
    await page.locator('dialog[open]').waitFor();
    expect(await page.locator('dialog').textContent()).toContain('as a new run');
    await page.locator('dialog button[type=submit]').click();
    await page.waitForURL(url => /\/r\/run_/.test(url.pathname) && !url.pathname.includes(runs.failed));
  });

  test('that asks is answered by a key, and the answer is with the question', async () => {
    runs.asks = await start(`Ask${script('ask "Which?" red <b>green</b>', 'report thanks')}`);
    const page = await open(`/r/${runs.asks}`);
    await page.locator('.open-question').waitFor();
    expect(await page.locator('.open-question').textContent()).toContain('<b>green</b>');
    await page.keyboard.press('2');
    await page.locator('.step', { hasText: 'answered: <b>green</b> (by page)' }).waitFor();
    await page.locator('.run-facts', { hasText: 'done' }).waitFor();
  });

  test('that nobody knows is said to be unknown, with those that are near', async () => {
    const page = await browser.newPage();
    await page.goto(`${address.origin}/${address.hash}`);
    await page.waitForSelector('main');
    await page.goto(`${address.origin}/r/${runs.coder.slice(0, -1)}~`);
    await page.locator('.problem', { hasText: 'RUN_UNKNOWN' }).waitFor();
  });
});

describe('the output', () => {
  test('of 50,000 lines opens at its end, is walked through, and never more than 5,000 are drawn', async () => {
    const page = await open(`/r/${runs.log}/output?raw=1`);
    await page.locator('.out-line', { hasText: 'line 50000 of' }).waitFor();
    const box = page.locator('.out');
    for (let round = 0; round < 8; round++) {
      const first = (await words(page, '.out-line >> nth=0'))[0]!;
      await box.evaluate(element => element.scrollTo(0, 0));
      await expect.poll(async () => (await words(page, '.out-line >> nth=0'))[0]).not.toBe(first);
      expect(await page.locator('.out-line').count()).toBeLessThanOrEqual(5_000);
    }
    await page.keyboard.press('f');
    await page.locator('.out-line', { hasText: 'line 50000 of' }).waitFor();
    expect(await page.locator('.out-line >> nth=-1').textContent()).toBe(
      'line 50000 of the log <b>50000</b>',
    );
  });

  test('opens at the line of the address, and goes where the address goes', async () => {
    const page = await open(`/r/${runs.log}/output#L120`);
    const target = page.locator('.out-line.is-target');
    await target.waitFor();
    expect(await target.textContent()).toBe('line 120 of the log <b>120</b>');
    await page.evaluate(() => {
      location.hash = '#L33333';
    });
    await page.locator('.out-line.is-target', { hasText: 'line 33333 of' }).waitFor();
    expect(await target.evaluate(line => getComputedStyle(line).counterIncrement)).toContain('out');
  });

  test('is searched by keys, forth and back, as words and as a pattern', async () => {
    const page = await open(`/r/${runs.log}/output?raw=1`);
    await page.waitForSelector('.out-line');
    await page.keyboard.press('/');
    await page.keyboard.type('LINE 4999');
    await page.keyboard.press('Enter');
    const told = page.locator('.out-search [role=status]');
    await expect.poll(() => told.textContent()).toContain('1 of 11, line 4999');
    await page.keyboard.press('Enter');
    await expect.poll(() => told.textContent()).toContain('2 of 11, line 49990');
    await page.locator('.out-line.is-target', { hasText: 'line 49990 of' }).waitFor();
    await page.keyboard.press('Shift+Enter');
    await expect.poll(() => told.textContent()).toContain('1 of 11');
    await page.getByRole('button', { name: 'As a regular expression' }).click();
    await page.locator('.out-search input').fill('^line \\d7777 ');
    await page.locator('.out-search input').press('Enter');
    await expect.poll(() => told.textContent()).toContain('1 of 4, line 17777');
    await page.locator('.out-search input').fill('(e+l*)+\\1$');
    await page.locator('.out-search input').press('Enter');
    await expect.poll(() => told.textContent()).toMatch(/Nothing found|takes too long/);
  });

  test('of a GiB opens, has its numbers, and is searched to its end', async () => {
    const page = await open(`/r/${runs.giant}/output?raw=1`);
    await page.locator('.out-line', { hasText: 'last' }).waitFor();
    await page.waitForSelector('.has-numbers');
    const place = await askHub(squad, 'locate_output', { run: runs.giant, line: 1e9 });
    expect(place).toMatchObject({ line: 5, lines: 5, isComplete: true });
    await page.keyboard.press('/');
    await page.keyboard.type('needle in');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.locator('.out-search [role=status]').textContent(), { timeout: 30_000 })
      .toContain('line 4');
  });

  test('is followed until somebody scrolls up, and again when they say so', async () => {
    const steps = Array.from({ length: 400 }, (_, at) => [`say step ${at} of it`, 'sleep 50ms']).flat();
    runs.live = await start(`Live${script(...steps)}`);
    const page = await open(`/r/${runs.live}/output`);
    await expect.poll(() => page.locator('.out-line').count(), { timeout: 30_000 }).toBeGreaterThan(60);
    await page.locator('.out').evaluate(element => element.scrollTo(0, 0));
    await page.locator('.out-below', { hasText: /\d+ new lines/ }).waitFor();
    expect(await page.locator('.out').evaluate(element => element.scrollTop)).toBe(0);
    await page.keyboard.press('f');
    await page.locator('.out-below').waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('.run-facts', { hasText: 'cancelled' }).waitFor();
  });
});

describe('the changes', () => {
  test('are walked through and commented on by keys alone; comments outlive a reload and are sent once', async () => {
    const page = await open(`/r/${runs.coder}/changes`);
    await page.waitForSelector('.diff-row');
    await page.keyboard.press('n');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('m');
    await page.keyboard.type('Say more');
    await page.keyboard.press('Control+Enter');
    await page.locator('.diff-remark', { hasText: 'Say more' }).waitFor();
    await page.reload();
    await page.locator('.diff-remark', { hasText: 'Say more' }).waitFor();
    await page.getByRole('button', { name: 'Send 1 comment' }).click();
    expect(await page.locator('dialog').textContent()).toContain(`squad comment ${runs.coder}`);
    await page.locator('dialog button[type=submit]').click();
    await page.waitForURL(url => /\/r\/run_/.test(url.pathname) && !url.pathname.includes(runs.coder));
    await page.waitForSelector('.step');
    const next = new URL(page.url()).pathname.split('/')[2]!;
    const { run } = await squad.json<{ run: { task: string } }>(['show', next]);
    expect(run.task).toContain('Say more');
    await page.goto(`${address.origin}/r/${runs.coder}/changes`);
    await page.waitForSelector('.diff-row');
    expect(await page.locator('.send-bar').count()).toBe(0);
  });

  test('are opened at the line of the address', async () => {
    const page = await open(`/r/${runs.coder}/changes#src/a.ts:R3`);
    await page.locator('.diff-row.is-target', { hasText: 'third line' }).waitFor();
  });
});

test('rounds of review are side by side, each with what changed since the one before', async () => {
  const page = await open(`/r/${runs.coder}/review`);
  await page.locator('.round', { hasText: 'needs work' }).waitFor();
  expect(await page.locator('.round').textContent()).toContain('Fix <img');
  await page.getByRole('button', { name: 'What it had changed' }).click();
  await page.locator('.round .diff-row', { hasText: 'first line' }).waitFor();
  await page.getByRole('button', { name: 'Allow more rounds' }).click();
  await page.locator('dialog button[type=submit]').click();
  await page.locator('.toast', { hasText: /Up to \d+ rounds/ }).waitFor();
});
