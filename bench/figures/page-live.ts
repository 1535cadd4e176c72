import type { Page } from 'playwright-core';
import { BenchSquad } from '../bench-squad.ts';
import { startBusyTeam } from '../busy-team.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { inPage } from '../in-page.ts';
import { until } from '../measure.ts';
import { PageBrowser } from '../page-browser.ts';
import { scriptTimes } from '../script-times.ts';

const RUNS = 200;
const EVENTS_A_SECOND = 20;
const SECONDS = 20;
const MAX_FLUSH_MS = 8;
const MAX_LATE_MS = 250;
const FLUSH_MS = 50;

/** The list of runs while every run is active, compared with a page that only receives the same events. */
export const pageLive: Figure = {
  name: 'page-live',
  title: `${RUNS} runs on the page at ${EVENTS_A_SECOND} events a second`,
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    await startBusyTeam(squad, { runs: RUNS, perSecond: EVENTS_A_SECOND });
    await using page = await PageBrowser.of(squad);
    const board = await openBoard(page);
    const bare = await openBare(page);
    const ours = await scriptTimes(board, { seconds: SECONDS, windowMs: FLUSH_MS });
    // Now: a page that is not in front is drawn later.
    const late = await lateness(squad, board, bare);
    const floor = await scriptTimes(bare, { seconds: SECONDS, windowMs: FLUSH_MS });
    const pairs = Math.min(ours.moved.length, floor.moved.length);
    const flushes = { ours: ours.moved.slice(0, pairs), floor: floor.moved.slice(0, pairs) };
    return [
      paired('script time of a flush', 'ms', flushes, {
        target: `p95 ≤ ${MAX_FLUSH_MS} ms`,
        isMet: ({ p95: most }) => most! <= MAX_FLUSH_MS,
        note: `all script but that of timers within ${FLUSH_MS} ms in which there was any, with ${RUNS} rows drawn; the floor parses the same messages and writes one number`,
      }),
      sampled('script time of a timer of the page', 'ms', ours.timed, {
        note: `once a second the times of all ${RUNS} rows go on`,
      }),
      paired('event written to row changed', 'ms', late, {
        target: `p95 ≤ ${MAX_LATE_MS} ms`,
        isMet: ({ p95: most }) => most! <= MAX_LATE_MS,
        note: 'by the clock of the machine; the floor is the message that brought the same event to a page that draws nothing',
      }),
    ];
  },
};

async function openBoard(of: PageBrowser): Promise<Page> {
  const page = await of.browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(await of.address('/'));
  const rows = page.locator('.board > li');
  await rows.first().waitFor();
  while ((await rows.count()) < RUNS) {
    const before = await rows.count();
    await page.getByRole('button', { name: 'show more' }).click();
    await until('more rows', async () => (await rows.count()) > before);
  }
  await page.evaluate(inPage('see-rows', 'seeRows'));
  return page;
}

/** The same feed, heard by the locked page, which does nothing by itself. */
async function openBare(of: PageBrowser): Promise<Page> {
  const page = await of.browser.newPage();
  await page.goto(`${of.origin}/`);
  const key = new URL(await of.address('/')).hash.replace('#key=', '');
  await page.evaluate(inPage('hear-feed', 'hearFeed', key));
  return page;
}

/** Of every event that both have seen: how long after it was written. */
async function lateness(squad: BenchSquad, board: Page, bare: Page) {
  const seenBy = async (page: Page) => {
    const seen = await page.evaluate(
      () => (globalThis as unknown as { seen: [string, string, number][] }).seen,
    );
    // Other parts of a row change as well: the first time is the one.
    return new Map(seen.toReversed().map(([run, text, at]) => [`${run} ${text}`, at]));
  };
  const [ours, floor] = [await seenBy(board), await seenBy(bare)];
  const answer = await askHub<{ events: { at: number; runId: string; body: { text?: string } }[] }>(
    squad,
    'list_events',
    { input: { types: ['run.activity'], limit: 1000 } },
  );
  const pair = { ours: [] as number[], floor: [] as number[] };
  for (const { at, runId, body } of answer!.events) {
    const key = `${runId} ${body.text}`;
    const [drawn, heard] = [ours.get(key), floor.get(key)];
    if (drawn === undefined || heard === undefined) continue;
    pair.ours.push(drawn - at);
    pair.floor.push(heard - at);
  }
  if (pair.ours.length < 100)
    throw new Error(`Only ${pair.ours.length} events were seen: this would say nothing`);
  return pair;
}
