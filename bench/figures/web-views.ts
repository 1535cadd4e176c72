import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openStore } from '../../src/store/open.ts';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, type Row, sampled, single } from '../figure.ts';
import { frameTimes } from '../frame-times.ts';
import { askHub } from '../hub-line.ts';
import { inBrowser } from '../in-browser.ts';
import { median, repeat, until } from '../measure.ts';
import { finishedRun } from '../sample-runs.ts';
import { WebBrowser } from '../web-browser.ts';

const FILES = 200;
const LINES = 40;
const MAX_OPEN_MS = 1_000;
const MAX_HEAP_MB = 25;
const RUNS = 10_000;
const CARDS = 500;
const FRAMES = 300;
/** At 50 frames per second. */
const MAX_FRAME_MS = 20;
const VIEWPORT = { width: 1280, height: 800 };

/** The largest lists that the web UI shows: a diff of many files, the list of runs, the board. */
export const webViews: Figure = {
  name: 'web-views',
  title: `A diff of ${FILES} files, ${RUNS.toLocaleString('en')} runs and ${CARDS} cards in Chromium`,
  async measure() {
    await using squad = new BenchSquad();
    await addRuns(squad);
    await squad.hubPid();
    await using web = await WebBrowser.of(squad);
    const page = await web.browser.newPage({ viewport: VIEWPORT });
    const rows = [...(await board(page, web)), ...(await list(page, web))];
    await page.close();
    return [await firstRow(web), ...(await diff(squad, web)), ...rows];
  },
};

/** Runs of the last month; the newest failed a moment ago, so that they are on the board. */
async function addRuns(squad: BenchSquad): Promise<void> {
  mkdirSync(squad.home, { recursive: true });
  const store = await openStore({ database: join(squad.home, 'squad.db'), version: 'bench' });
  for (let at = 0; at < RUNS; at += CARDS) {
    const changes = Array.from({ length: CARDS }, (_, i) => {
      const changes = finishedRun(
        squad.workspace,
        Date.now() - 120_000 - (at + i) * (at === 0 ? 60_000 : 200_000),
      );
      for (const run of at === 0 ? (changes.at(-1)?.runs ?? []) : [])
        Object.assign(run, { status: 'error', error: { code: 'ENGINE_FAILED', message: 'It said so.' } });
      return changes;
    });
    await Promise.all(changes.flat().map(change => store.commit(change)));
  }
  await store.close();
}

async function firstRow(web: WebBrowser): Promise<Row> {
  const times = await repeat(5, async () => (await opened(web, '/', '.board > li', '')).took);
  return sampled(`first of ${RUNS.toLocaleString('en')} runs, from navigation`, 'ms', times, {
    target: `≤ ${MAX_OPEN_MS} ms`,
    isMet: ({ value }) => value <= MAX_OPEN_MS,
    note: 'with an empty browser cache',
  });
}

async function list(page: Page, web: WebBrowser): Promise<Row[]> {
  await page.goto(await web.address('/'));
  const rows = page.locator('.board > li');
  await rows.first().waitFor();
  const loaded = async () => {
    await page.keyboard.press('End');
    return (await rows.count()) >= RUNS;
  };
  // Pressed again and again, because new rows move the end of the list away.
  await until('every row', loaded, { everyMs: 100, patienceMs: 600_000 });
  await page.keyboard.press('Home');
  return scrolled(page, `${RUNS.toLocaleString('en')} runs`);
}

async function board(page: Page, web: WebBrowser): Promise<Row[]> {
  await page.goto(await web.address('/?view=board'));
  await until('every card', async () => (await page.locator('.card').count()) >= CARDS);
  return scrolled(page, `board with ${CARDS} cards`);
}

async function scrolled(page: Page, name: string): Promise<Row[]> {
  const { cpu, rate } = await frameTimes(page, FRAMES);
  return [
    sampled(`${name}: CPU time of a frame while it is scrolled`, 'ms', cpu, {
      target: `p95 ≤ ${MAX_FRAME_MS} ms`,
      isMet: ({ p95: most }) => most! <= MAX_FRAME_MS,
      note: 'of the main thread, so 20 ms are 50 frames per second; other programs do not count',
    }),
    single(`${name}: frames drawn`, '/s', rate, { note: 'without a GPU, and next to whatever else runs' }),
  ];
}

async function diff(squad: BenchSquad, web: WebBrowser): Promise<Row[]> {
  const run = await changedRun(squad);
  const heaps: number[] = [];
  const times = await repeat(5, async () => {
    const { took, heapMb } = await opened(
      web,
      `/r/${run}/changes`,
      '.diff-row.is-added',
      `compute(0, 'new')`,
      '.diff-row .hl-keyword',
    );
    heaps.push(heapMb);
    return took;
  });
  return [
    sampled(`diff of ${FILES} files, from navigation to its lines`, 'ms', times, {
      target: `≤ ${MAX_OPEN_MS} ms`,
      isMet: ({ value }) => value <= MAX_OPEN_MS,
      note: `${LINES} lines in each file; with an empty browser cache`,
    }),
    single('heap of that tab', 'MB', median(heaps), {
      target: `≤ ${MAX_HEAP_MB} MB`,
      isMet: ({ value }) => value <= MAX_HEAP_MB,
      note: 'after a full collection, with the syntax colours loaded',
    }),
  ];
}

async function changedRun(squad: BenchSquad): Promise<string> {
  const file = (at: number) => join(squad.workspace, 'src', `part-${at % 20}`, `file-${at}.ts`);
  for (let at = 0; at < 20; at++) mkdirSync(join(squad.workspace, 'src', `part-${at}`), { recursive: true });
  for (let at = 0; at < FILES; at++)
    writeFileSync(
      file(at),
      Array.from(
        { length: LINES },
        (_, line) => `export const value${line} = compute(${line}, 'old');\n`,
      ).join(''),
    );
  const git = (...args: string[]) => execFileSync('git', args, { cwd: squad.workspace, env: squad.env() });
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=B', '-c', 'user.email=b@example.com', 'commit', '-qm', 'First');
  const { env } = squad.agent([`sed -i "s/'old'/'new'/" src/*/*.ts`]);
  const members = [{ roleId: 'coder', task: 'Change every line' }];
  const started = await askHub<{ runIds: [string] }>(squad, 'start_squad', { input: { members }, env });
  const [run] = started!.runIds;
  await until('it is done', async () => {
    const shown = await askHub<{ run: { status: string } }>(squad, 'show_run', { input: { run } });
    return shown?.run.status === 'completed';
  });
  return run;
}

/** Time until an element with this text is drawn in a new tab; the heap then, or once `last` is drawn, too. */
async function opened(web: WebBrowser, path: string, selector: string, text: string, last = selector) {
  const context = await web.browser.newContext({ viewport: VIEWPORT });
  try {
    const page = await context.newPage();
    await page.addInitScript({ content: inBrowser('see-text', 'seeText', selector, text) });
    await page.goto(await web.address(path), { waitUntil: 'commit' });
    const html = page.locator('html[data-seen]');
    await html.waitFor({ timeout: 30_000 });
    const took = Number(await html.getAttribute('data-seen'));
    await page.locator(last).first().waitFor();
    const session = await context.newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return { took, heapMb: Math.round(usedSize / 100_000) / 10 };
  } finally {
    await context.close();
  }
}
