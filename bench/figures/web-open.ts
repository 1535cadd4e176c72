import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { inBrowser } from '../in-browser.ts';
import { interleave, until } from '../measure.ts';
import { WebBrowser } from '../web-browser.ts';

const LINES = 50_000;
const MAX_MS = 1_000;
const WORDS = 'of the log, about as long as a line of a test run is';

/** Wait of a user who opens a long run to see how it ended. */
export const webOpen: Figure = {
  name: 'web-open',
  title: `A run of ${LINES.toLocaleString('en')} lines is opened in Chromium`,
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    const run = await longRun(squad);
    await using web = await WebBrowser.of(squad);
    await using bare = await bareServer();
    const pair = await interleave(
      async () => opened(web.browser, await web.address(`/r/${run}/output`)),
      () => opened(web.browser, bare.url),
    );
    return [
      paired('from navigation to the last line visible', 'ms', pair, {
        target: `< ${MAX_MS} ms`,
        isMet: ({ value }) => value < MAX_MS,
        note: 'with an empty browser cache; the floor is the whole text in one <pre> of a bare page',
      }),
    ];
  },
};

async function longRun(squad: BenchSquad): Promise<string> {
  const { env } = squad.agent([`seq -f 'line %.0f ${WORDS}' 1 ${LINES}`]);
  const input = { members: [{ roleId: 'coder', task: 'Write much' }] };
  const started = await askHub<{ runIds: [string] }>(squad, 'start_squad', { input, env });
  const [run] = started!.runIds;
  await until('it is done', async () => {
    const shown = await askHub<{ run: { status: string } }>(squad, 'show_run', { input: { run } });
    return shown?.run.status === 'completed';
  });
  return run;
}

/** Milliseconds from the start of the navigation, by the clock of the browser. */
async function opened(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.addInitScript({ content: inBrowser('see-last-line', 'seeLastLine', `line ${LINES} `) });
    await page.goto(url, { waitUntil: 'commit' });
    const html = page.locator('html[data-seen]');
    await html.waitFor({ timeout: 30_000 });
    return Number(await html.getAttribute('data-seen'));
  } finally {
    await context.close();
  }
}

async function bareServer(): Promise<AsyncDisposable & { url: string }> {
  const text = Array.from({ length: LINES }, (_, at) => `line ${at + 1} ${WORDS}`).join('\n');
  const html = `<!doctype html><title>Bare</title><body style="margin:0"><pre style="margin:0">${text}</pre><script>scrollTo(0,1e9)</script>`;
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
