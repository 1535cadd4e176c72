import { BenchSquad } from '../bench-squad.ts';
import { startBusyTeam } from '../busy-team.ts';
import { type Figure, single } from '../figure.ts';
import { InspectedHub } from '../inspected-hub.ts';
import { interruption } from '../interruption.ts';
import { WebBrowser } from '../web-browser.ts';

const PAGES = 20;
const RUNS = 20;
const EVENTS_A_SECOND = 5;
const MAX_MORE_MB = 5;
/** PAGE_HEAP_MINUTES sets a shorter time for a first try, which cannot show a slow leak. */
const MINUTES = Number(process.env.PAGE_HEAP_MINUTES ?? 30);
const PATHS = ['/', '/inbox', '/cost', '/events', '/reviews'];

/** Whether web UIs that stay open for a long time make the hub's heap grow. */
export const webHeap: Figure = {
  name: 'web-heap',
  title: `${PAGES} pages open for ${MINUTES} minutes, ${EVENTS_A_SECOND} events a second`,
  async measure() {
    await using squad = new BenchSquad();
    await using hub = await InspectedHub.start(squad);
    const empty = await hub.heapMb();
    await startBusyTeam(squad, { runs: RUNS, perSecond: EVENTS_A_SECOND });
    await using web = await WebBrowser.of(squad);
    const context = await web.browser.newContext({ viewport: { width: 1280, height: 800 } });
    for (let at = 0; at < PAGES; at++) {
      const tab = await context.newPage();
      await tab.goto(await web.address(PATHS[at % PATHS.length]!));
      await tab.locator('.connection.live').waitFor();
    }
    const early = MINUTES / 6;
    await minutes(early);
    const first = await hub.heapMb();
    await minutes(MINUTES - early);
    const last = await hub.heapMb();
    const live = (await context.pages()[0]!.locator('.connection.live').count()) === 1;
    if (!live) throw new Error('The pages have lost the hub: this would measure nothing');
    const note = 'used heap after a full collection';
    return [
      single('hub without pages', 'MB', empty, { note }),
      single(`hub with ${PAGES} pages, minute ${early.toFixed(1)}`, 'MB', first, { note }),
      single(`hub with ${PAGES} pages, minute ${MINUTES}`, 'MB', last, { note }),
      single('more by then', 'MB', last - first, {
        target: `≤ ${MAX_MORE_MB} MB`,
        isMet: ({ value }) => value <= MAX_MORE_MB,
      }),
    ];
  },
};

async function minutes(count: number): Promise<void> {
  for (const end = Date.now() + count * 60_000; Date.now() < end; ) {
    interruption.throwIfAborted();
    await new Promise(wake => setTimeout(wake, Math.min(1_000, Math.max(0, end - Date.now()))));
  }
}
