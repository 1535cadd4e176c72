import type { Page } from 'playwright-core';
import { BenchSquad } from '../bench-squad.ts';
import { startBusyTeam } from '../busy-team.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { inBrowser } from '../in-browser.ts';
import { until } from '../measure.ts';
import { scriptTimes } from '../script-times.ts';
import { WebBrowser } from '../web-browser.ts';

const RUNS = 200;
const EVENTS_A_SECOND = 20;
const SECONDS = 20;
const MAX_FLUSH_MS = 8;
const MAX_LATE_MS = 250;
const FLUSH_MS = 50;

/** The list of runs while every run is active, compared with a page that only receives the same events. */
export const webLive: Figure = {
  name: 'web-live',
  title: `${RUNS} runs in the web UI at ${EVENTS_A_SECOND} events a second`,
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    await startBusyTeam(squad, { runs: RUNS, perSecond: EVENTS_A_SECOND });
    await using web = await WebBrowser.of(squad);
    const board = await openBoard(web);
    const bare = await openBare(web);
    const ours = await scriptTimes(board, { seconds: SECONDS, windowMs: FLUSH_MS });
    // Measured now, because Chromium delays drawing of background tabs.
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
      sampled('script time of a timer of the web UI', 'ms', ours.timed, {
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

async function openBoard(of: WebBrowser): Promise<Page> {
  const page = await of.browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(await of.address('/'));
  const rows = page.locator('.board > li');
  await rows.first().waitFor();
  while ((await rows.count()) < RUNS) {
    const before = await rows.count();
    await page.getByRole('button', { name: 'show more' }).click();
    await until('more rows', async () => (await rows.count()) > before);
  }
  await page.evaluate(inBrowser('see-rows', 'seeRows'));
  return page;
}

/** Receives the same feed in the locked web UI, which does nothing by itself. */
async function openBare(of: WebBrowser): Promise<Page> {
  const page = await of.browser.newPage();
  await page.goto(`${of.origin}/`);
  const key = new URL(await of.address('/')).hash.replace('#key=', '');
  await page.evaluate(inBrowser('hear-feed', 'hearFeed', key));
  return page;
}

/** Delay of every event that both tabs have seen, from the write to the display. */
async function lateness(squad: BenchSquad, board: Page, bare: Page) {
  const seenBy = async (page: Page) => {
    const seen = await page.evaluate(
      () => (globalThis as unknown as { seen: [string, string, number][] }).seen,
    );
    // The same text may be recorded again when another part of the row changes. The first time counts.
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
