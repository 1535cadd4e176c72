import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad } from '../support/git-squad.ts';
import { seriousFindings, startRun, useWebUi } from '../support/web-ui.ts';

const LINES = 100_000;
/** Images of one pixel. */
const RED =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const CLEAR = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
const squad = new GitSquad({ coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.' });
const webUi = useWebUi(squad);
let small: string;
let large: string;
let words: string;
let many: string;
let picture: string;

beforeAll(async () => {
  squad.write('src/old.ts', 'one\ntwo\nthree\n');
  squad.write('src/words.ts', 'const limit = one(two, three);\n');
  squad.write('numbers.txt', `${Array.from({ length: 60 }, (_, at) => at + 1).join('\n')}\n`);
  writeFileSync(join(squad.workspace, 'logo.png'), Buffer.from(RED, 'base64'));
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Second');
  small = await startRun(squad, 'Change a little', [
    ...['write src/old.ts', '| one', '| zwei', '| three', 'write src/new.ts', '| first', '| second'],
    'report done',
  ]);
  // 5 MB of diff.
  const lines = `awk 'BEGIN{for(i=1;i<=${LINES};i++)printf "%06d generated line that is fifty characters long\\n",i}'`;
  large = await startRun(squad, 'Change a lot', [`run ${lines} > generated.txt`, 'report done']);
  words = await startRun(squad, 'Change a word', [
    ...['write src/words.ts', '| const limit = one(two, five);', 'report done'],
  ]);
  many = await startRun(squad, 'Change many', [
    'run mkdir many && cd many && seq 10000 | split -l 1 -a 4 - f',
    String.raw`run cd many && for name in 'a\342\200\256gnp.sh' 'b\033[2J\nc' '"<b>.ts'; do echo x > "$(printf "$name")"; done`,
    'report done',
  ]);
  picture = await startRun(squad, 'Draw', [
    `run printf ${CLEAR} | base64 -d > logo.png && printf 'GIF89a\\377\\377\\377\\377\\0\\0' > bomb.gif`,
    "run sed -i 's/^30$/thirty/' numbers.txt",
    'report done',
  ]);
  await squad.run(['wait', small, large, words, many, picture]);
});

test('comments on lines of an ended run go back to its agent, once', { tags: ['D9'] }, async () => {
  const page = await webUi.open(`/r/${small}/changes`);
  await page.locator('.diff-row', { hasText: 'zwei' }).waitFor();
  await page.locator('.diff-row', { hasText: 'zwei' }).focus();
  await page.keyboard.press('m');
  await page.keyboard.type("Say 'two' again");
  await page.keyboard.press('Control+Enter');
  await page.locator('.diff-remark', { hasText: "Say 'two' again" }).waitFor();
  await page.reload();
  await page.locator('.diff-remark', { hasText: "Say 'two' again" }).waitFor();
  await page.getByRole('button', { name: 'Send 1 comment' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`squad comment ${small} src/old.ts:2 'Say '\\''two'\\'' again'`).waitFor();
  await dialog.getByLabel(/Message/).fill('In English, please.');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await page.waitForURL(url => /\/r\/run_/.test(url.pathname) && !url.pathname.includes(small));
  const next = new URL(page.url()).pathname.split('/')[2]!;
  const { run } = await askHub<{ run: { task: string } }>(squad, 'show_run', { run: next });
  for (const part of ['In English, please.', 'src/old.ts:2', 'zwei', "Say 'two' again"])
    expect(run.task).toContain(part);
  await page.goto(`${webUi.origin}/r/${small}/changes`);
  await page.locator('.diff-row').first().waitFor();
  expect(await page.locator('.send-bar').count()).toBe(0);
});

test('by keys alone: a change is gone to and commented on, and the line after it too', async () => {
  const page = await webUi.open(`/r/${small}/changes`);
  const focused = page.locator('.diff-row:focus');
  await page.locator('.diff-row', { hasText: 'zwei' }).waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const words of ['Next change', 'Next line', 'Comment on the line in focus'])
    await help.getByText(words).first().waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });

  const comment = async (words: string) => {
    await page.keyboard.press('m');
    await page.keyboard.type(words);
    await page.keyboard.press('Control+Enter');
    await page.locator('.diff-remark', { hasText: words }).waitFor();
  };
  // With nothing in focus it is the first change.
  await comment('two words here');
  await expect.poll(() => focused.getAttribute('data-place')).toBe('src/old.ts:L2');
  await page.keyboard.press('j');
  await comment('instead of two');
  await page.keyboard.press('n');
  expect(await focused.getAttribute('data-place')).toBe('src/new.ts:R1');
  await page.keyboard.press('j');
  await comment('on the second');
  await page.keyboard.press('k');
  expect(await focused.getAttribute('data-place')).toBe('src/new.ts:R1');
  await page.keyboard.press('p');
  expect(await focused.getAttribute('data-place')).toBe('src/old.ts:L2');
  await page.getByRole('button', { name: 'Send 3 comments' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  const places = await page.locator('.send-bar code').allTextContents();
  expect(places).toEqual(['src/old.ts:2', 'src/old.ts:2', 'src/new.ts:2']);
});

test('they open at the line of the address', async () => {
  const page = await webUi.open(`/r/${small}/changes#src/new.ts:R2`);
  await page.locator('.diff-row.is-target', { hasText: 'second' }).waitFor();
});

test('files are filtered, marked as viewed until they change, and shown side by side', async () => {
  const page = await webUi.open(`/r/${small}/changes`);
  const list = page.getByRole('navigation', { name: 'Changed files' });
  await list.getByText('0 of 2 files viewed').waitFor();
  await page.getByLabel('Filter files').fill('new');
  await expect.poll(() => page.locator('.diff-file').count()).toBe(1);
  await page.getByLabel('Filter files').press('Escape');
  await expect.poll(() => page.locator('.diff-file').count()).toBe(2);
  await page.locator('.diff-row', { hasText: 'zwei' }).focus();
  await page.keyboard.press('v');
  await list.getByText('1 of 2 files viewed').waitFor();
  await page.reload();
  await list.getByText('1 of 2 files viewed').waitFor();
  expect(await page.locator('.diff-row', { hasText: 'zwei' }).count()).toBe(0);
  await page.locator('.diff-file', { hasText: 'src/old.ts' }).getByLabel('viewed').uncheck();
  await page.keyboard.press('u');
  const pair = page.locator('.diff-pair', { hasText: 'zwei' });
  expect(await pair.locator('.diff-row').allTextContents()).toEqual(['2+−two', '2++zwei']);
  expect(await seriousFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await seriousFindings(page, ['color-contrast'])).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test('lines have syntax colours, and the words that changed are marked', async () => {
  const page = await webUi.open(`/r/${words}/changes`);
  await page.locator('.diff-row .hl-keyword', { hasText: 'const' }).first().waitFor();
  await expect.poll(() => page.locator('.is-added .is-changed').allTextContents()).toEqual(['five']);
  expect(await page.locator('.is-removed .is-changed').allTextContents()).toEqual(['three']);
  const bar = page.getByRole('toolbar', { name: 'Decide on these changes' });
  await bar.getByRole('button', { name: 'Merge' }).waitFor();
  expect(await bar.evaluate(one => one.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
  await page.keyboard.press('i');
  await page.getByRole('heading', { name: 'Merge' }).waitFor();
});

test('on a phone a line has its number beside the button for a comment, and the bar has what can be done', async () => {
  const context = await webUi.browser.newContext({ hasTouch: true, viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await webUi.enter(page, `/r/${small}/changes`);
  const row = page.locator('.diff-row', { hasText: 'zwei' });
  await row.waitFor();
  const button = row.getByRole('button', { name: 'Comment on src/old.ts:R2' });
  expect(await button.evaluate(one => getComputedStyle(one).opacity)).toBe('1');
  const overlaps = await row.evaluate(line => {
    const plus = line.querySelector('.diff-comment')!.getBoundingClientRect();
    return [...line.querySelectorAll('.diff-number')].some(
      number => number.getBoundingClientRect().right > plus.left + 0.5,
    );
  });
  expect(overlaps).toBe(false);
  const bar = page.getByRole('toolbar', { name: 'Decide on these changes' });
  await bar.getByRole('button', { name: 'Merge' }).waitFor();
  expect(await bar.evaluate(one => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
  await bar.getByRole('button', { name: 'Comment' }).tap();
  await page.locator('.diff-box textarea').waitFor();
  await context.close();
});

test('with the colours of the system, states are shown in other ways', async () => {
  const page = await webUi.open(`/r/${words}/changes#src/words.ts:R1`);
  await page.emulateMedia({ forcedColors: 'active' });
  const style = (selector: string, name: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((one, name) => getComputedStyle(one).getPropertyValue(name), name);
  await page.locator('.is-changed').first().waitFor();
  expect(await style('.is-changed', 'text-decoration-line')).toBe('underline');
  expect(await style('.diff-row.is-target', 'outline-style')).toBe('solid');
  expect(await style('.tabs [aria-current]', 'text-decoration-line')).toBe('underline');
  expect(await style('.tabs a:not([aria-current])', 'text-decoration-line')).toBe('none');
  const disabled = await style('.run-page [aria-disabled=true]', 'color');
  expect(disabled).not.toBe(await style('.decision-bar button:not([aria-disabled])', 'color'));
  await page.keyboard.press('Control+k');
  await page.locator('[role=option][aria-selected=true]').waitFor();
  expect(await style('[role=option][aria-selected=true]', 'outline-style')).toBe('solid');
});

test('images are shown before and after, and one that would need too much memory is not', async () => {
  const page = await webUi.open(`/r/${picture}/changes`);
  const widths = (images: Element[]) => images.map(image => (image as HTMLImageElement).naturalWidth);
  const logo = page.locator('.diff-file', { hasText: 'logo.png' });
  await logo.getByRole('img', { name: 'logo.png after' }).waitFor();
  await expect.poll(() => logo.locator('img').evaluateAll(widths)).toEqual([1, 1]);
  await logo.getByText('before · 1 × 1').waitFor();
  const bomb = page.locator('.diff-file', { hasText: 'bomb.gif' });
  await bomb.getByText('after · 65535 × 65535').waitFor();
  await bomb.getByText('Too large to show').waitFor();
  expect(await bomb.locator('img').count()).toBe(0);
  expect(await seriousFindings(page)).toEqual([]);
});

test('the context around changes can be expanded, and marks of viewed files stay', async () => {
  const page = await webUi.open(`/r/${picture}/changes`);
  const file = page.locator('.diff-file', { hasText: 'numbers.txt' });
  const rows = file.locator('.diff-row');
  await expect.poll(() => rows.count()).toBe(8);
  await file.getByLabel('viewed').check();
  await page.getByText('1 of 3 files viewed').waitFor();
  await page.getByLabel('context').selectOption('whole files');
  await file.locator('.diff-fold').click();
  await expect.poll(() => rows.count()).toBe(61);
  await page.getByText('1 of 3 files viewed').waitFor();
});

test('a branch that is deleted meanwhile leaves the changes readable, and says what is gone after that', async () => {
  webUi.expectErrors(/502/);
  const page = await webUi.open(`/r/${words}/changes`);
  await page.locator('.diff-row', { hasText: 'five' }).waitFor();
  const { run } = await askHub<{ run: { worktree: { path: string; branch: string } } }>(squad, 'show_run', {
    run: words,
  });
  squad.git('worktree', 'remove', '--force', run.worktree.path);
  squad.git('branch', '-D', run.worktree.branch);
  await page.getByRole('button', { name: 'compare again' }).click();
  await page
    .getByText(/are gone/)
    .first()
    .waitFor();
  await page.locator('.diff-row', { hasText: 'five' }).waitFor();
  await page.reload();
  await page.getByText('The folder was removed').waitFor();
});

test('10,000 files open, are filtered, and their names hide nothing', async () => {
  const page = await webUi.open(`/r/${many}/changes`);
  await page.getByText('of 10003 files viewed').waitFor();
  await page.getByLabel('Filter files').fill('fzzz');
  await expect.poll(() => page.locator('.diff-file').count()).toBeLessThan(300);
  await page.getByLabel('Filter files').fill('gnp');
  await page.locator('.diff-file', { hasText: 'a<U+202E>gnp.sh' }).waitFor();
  await page.getByLabel('Filter files').fill('[2J');
  await page.locator('.diff-file', { hasText: 'b␛[2J' }).waitFor();
  await page.getByLabel('Filter files').fill('<b>');
  await page.locator('.diff-path', { hasText: '"<b>.ts' }).first().waitFor();
});

test('5 MB of them open, answer, and are not drawn all at once', async () => {
  const page = await webUi.open(`/r/${large}/changes`);
  await page.getByText('generated.txt').first().waitFor();
  const file = page.locator('.diff-file');
  if ((await file.locator('.diff-row').count()) === 0) await file.locator('.diff-fold').click();
  await file.locator('.diff-row', { hasText: '000001 generated' }).waitFor();
  expect(await page.locator('.diff-row').count()).toBeLessThanOrEqual(2_000);
  const before = await page.locator('.diff-row').count();
  const more = page.getByRole('button', { name: /^Show more lines/ });
  // What loads late may move the button away between the press and the release of the pointer.
  await expect
    .poll(async () => {
      await more.click();
      return page.locator('.diff-row').count();
    })
    .toBeGreaterThan(before);
  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  await page.locator('.answer, .steps-fold').first().waitFor();
});

test('program and variables of an agent are in its details, and in a terminal', async () => {
  const page = await webUi.open(`/r/${small}/details`);
  await page
    .locator('.details')
    .getByText(/scripted-agent/)
    .first()
    .waitFor();
  expect((await squad.run(['show', small])).stdout).toMatch(/command +\S+ \S*scripted-agent/);
});
