import type { Page } from 'playwright-core';
import { BenchSquad } from '../bench-squad.ts';
import { fillHistory } from '../board-history.ts';
import { type Figure, type Row, single } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { inBrowser } from '../in-browser.ts';
import { until } from '../measure.ts';
import { git, makeRepository } from '../sample-repository.ts';
import { WebBrowser } from '../web-browser.ts';

const RUNS = 10_000;
const CARDS = 500;
const FILES = 200;
const LINES = 30;
const SCROLL_MS = 5_000;
const MIN_FRAMES = 50;
const MAX_OPEN_MS = 1_000;
const MAX_HEAP_MB = 25;

/** How the largest lists of the web UI feel: frames per second while scrolling, and a diff of many files. */
export const webFrames: Figure = {
  name: 'web-frames',
  title: `${RUNS.toLocaleString('en')} runs, ${CARDS} cards and a diff of ${FILES} files in Chromium`,
  async measure() {
    return [...(await scrolling()), ...(await diff())];
  },
};

async function scrolling(): Promise<Row[]> {
  await using squad = new BenchSquad();
  await squad.hubPid();
  await squad.stopHub();
  await fillHistory(squad, { runs: RUNS, events: RUNS });
  await squad.hubPid();
  await using web = await WebBrowser.of(squad);
  const page = await web.browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto('about:blank');
  await page.setContent('<div style="height: 1000000px"></div>');
  const bare = await frames(page);
  await page.goto(await web.address('/'));
  await page.locator('.board > li').first().waitFor();
  const rows = () => page.locator('.board > li').count();
  await until('every run is listed', async () => {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    return (await rows()) === RUNS;
  });
  await page.evaluate('scrollTo(0, 0)');
  const list = await frames(page);
  await page.goto(await web.address('/?view=board'));
  await page.locator('.card').first().waitFor();
  const cards = () => page.locator('.card').count();
  await until(`${CARDS} cards are shown`, async () => {
    for (const more of await page.getByRole('button', { name: /more/i }).all())
      if ((await cards()) < CARDS) await more.click();
    return (await cards()) >= CARDS;
  });
  const board = await frames(page);
  const target = {
    target: `≥ ${MIN_FRAMES}/s`,
    isMet: ({ value }: { value: number }) => value >= MIN_FRAMES,
  };
  return [
    single('an empty page is scrolled', '/s', bare.perSecond, { note: longest(bare) }),
    single(`${RUNS.toLocaleString('en')} runs are scrolled`, '/s', list.perSecond, {
      ...target,
      note: longest(list),
    }),
    single(`a board of ${await cards()} cards is scrolled`, '/s', board.perSecond, {
      ...target,
      note: longest(board),
    }),
  ];
}

const frames = (page: Page): Promise<{ perSecond: number; longest: number }> =>
  page.evaluate(inBrowser('scroll-frames', 'scrollFrames', String(SCROLL_MS)));

const longest = (measured: { longest: number }): string => `longest frame ${Math.round(measured.longest)} ms`;

async function diff(): Promise<Row[]> {
  await using squad = new BenchSquad();
  makeRepository(squad.workspace, FILES);
  const change = `for f in folder-*/*.txt; do seq -f 'a line that was added, the %.0fth of its file' 1 ${LINES} >> $f; done`;
  const { env } = squad.agent([change]);
  const input = { members: [{ roleId: 'coder', task: 'Change much' }] };
  const started = await askHub<{ runIds: [string] }>(squad, 'start_squad', { input, env });
  const [run] = started!.runIds;
  await until('it is done', async () => {
    const shown = await askHub<{ run: { status: string } }>(squad, 'show_run', { input: { run } });
    return shown?.run.status === 'completed';
  });
  if (git(squad.workspace, 'diff', '--stat').split('\n').length <= FILES)
    throw new Error(`The run changed fewer than ${FILES} files`);
  await using web = await WebBrowser.of(squad);
  const page = await web.browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(await web.address(`/r/${run}/details`));
  await page.locator('.details').waitFor();
  const devTools = await page.context().newCDPSession(page);
  const heap = async () => {
    await devTools.send('HeapProfiler.collectGarbage');
    return (await devTools.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const before = await heap();
  const start = performance.now();
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  await page.locator('.diff-row').first().waitFor();
  await page.waitForFunction(`document.querySelectorAll('.diff-file').length === ${FILES}`);
  const open = performance.now() - start;
  await page.locator('.hl-string, .diff-row').first().waitFor();
  const after = await heap();
  return [
    single(`a diff of ${FILES} files is opened`, 'ms', open, {
      target: `≤ ${MAX_OPEN_MS} ms`,
      isMet: ({ value }) => value <= MAX_OPEN_MS,
      note: 'from the click to all files listed and the first lines visible, Git included',
    }),
    single('heap of the tab with it', 'MB', after, {
      target: `≤ ${MAX_HEAP_MB} MB`,
      isMet: ({ value }) => value <= MAX_HEAP_MB,
      note: `after a full collection; ${before.toFixed(1)} MB before`,
    }),
  ];
}
