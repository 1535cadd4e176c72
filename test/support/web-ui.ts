import { AxeBuilder } from '@axe-core/playwright';
import type { APIResponse, Browser, BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { askHub } from './ask-hub.ts';
import { launchChromium } from './chromium.ts';
import { script } from './git-squad.ts';
import type { TestSquad } from './squad.ts';
import { webKey } from './web-key.ts';

const VIEWPORT = { width: 1280, height: 800 };
const WEB_TIMEOUT_MS = 60_000;

export interface OpenOptions {
  width?: number;
  theme?: 'light' | 'dark';
  /** Open the tab in the browser context of this one instead of a new context. */
  beside?: Page;
}

/** The web UI of a squad in one Chromium. Unexpected errors in a tab fail the test. */
export class WebUi {
  readonly squad: TestSquad;
  browser!: Browser;
  origin!: string;
  #contexts = new Set<BrowserContext>();
  #visitor: Page | null = null;
  #problems: string[] = [];
  #expected: RegExp[] = [];

  constructor(squad: TestSquad) {
    this.squad = squad;
    // Keeps the hub running between two tests, when no tab is open.
    squad.env.SQUAD_HUB_LINGER_MS = '120000';
  }

  async start(): Promise<void> {
    this.browser = await launchChromium();
    await this.squad.unlimited();
    await this.squad.set('stop.grace_ms', '200');
    await this.restart();
  }

  /** Starts a hub if none is running, and reads the origin of its web UI. */
  async restart(): Promise<void> {
    this.origin = new URL(await this.address()).origin;
  }

  /** URL that `squad open` prints. */
  async address(): Promise<string> {
    const { stdout } = await this.squad.run(['open', '--no-browser']);
    return /http:\S+/.exec(stdout)![0];
  }

  /** Opens a tab as `squad open` does, with a key that the web UI exchanges for a session. */
  async open(path = '/', options: OpenOptions = {}): Promise<Page> {
    const page = await this.blank(options);
    await this.enter(page, path);
    return page;
  }

  /** Loads a view in a tab that stays open for the next visit: a new tab costs more than a view. */
  async visit(path: string): Promise<Page> {
    if (!this.#visitor) {
      this.#visitor = await this.blank();
      this.#contexts.delete(this.#visitor.context());
    }
    const page = this.#visitor;
    await page.goto('about:blank');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(VIEWPORT);
    await this.enter(page, path);
    return page;
  }

  async enter(page: Page, path: string): Promise<void> {
    const [place, hash] = path.split('#');
    await page.goto(`${this.origin}${place}${await webKey(this.squad)}`);
    await page.locator('main h1').first().waitFor({ state: 'attached' });
    if (hash !== undefined) await page.goto(`${this.origin}${path}`);
  }

  /** A tab without a URL. */
  async blank({ width = VIEWPORT.width, theme = 'light', beside }: OpenOptions = {}): Promise<Page> {
    const context =
      beside?.context() ??
      (await this.browser.newContext({ viewport: { ...VIEWPORT, width }, colorScheme: theme }));
    context.setDefaultTimeout(WEB_TIMEOUT_MS);
    this.#contexts.add(context);
    const page = await context.newPage();
    this.#watch(page);
    await page.addInitScript(() =>
      addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
        console.error(`CSP ${violatedDirective}: ${blockedURI}`),
      ),
    );
    return page;
  }

  /** `route.fetch()` for names that only browsers resolve. */
  async fetched(route: Route): Promise<APIResponse> {
    const url = new URL(route.request().url());
    const { host } = url;
    url.hostname = '127.0.0.1';
    return route.fetch({ url: url.href, headers: { ...(await route.request().allHeaders()), host } });
  }

  /** Allows browser errors that match `pattern` in this test. */
  expectErrors(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  async closeAll(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    this.#contexts.clear();
    const unexpected = this.#problems.filter(text => !this.#expected.some(pattern => pattern.test(text)));
    this.#problems = [];
    this.#expected = [];
    expect(unexpected).toEqual([]);
  }

  /** After the last test of a file. */
  async end(): Promise<void> {
    await this.browser?.close();
    await this.squad[Symbol.asyncDispose]();
  }

  #watch(page: Page): void {
    const report = (text: string) => void this.#problems.push(text);
    page.on('pageerror', error => report(String(error)));
    page.on('console', message => {
      if (message.type() === 'error') report(`${message.text()} ${message.location().url}`);
    });
    page.on('dialog', dialog => {
      report(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', request => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== this.origin)
        report(`request to ${request.url()}`);
    });
  }
}

/** Starts the web UI before the tests of a file, checks for errors after each, and ends browser and squad at the end. */
export function useWebUi(squad: TestSquad): WebUi {
  const webUi = new WebUi(squad);
  beforeAll(() => webUi.start());
  afterEach(() => webUi.closeAll());
  afterAll(() => webUi.end());
  return webUi;
}

/** Starts a scripted agent; returns its run. */
export async function startRun(
  squad: TestSquad,
  task: string,
  lines: string[] = [],
  { role = 'coder' }: { role?: string } = {},
): Promise<string> {
  const members = [{ roleId: role, task: `${task}${lines.length > 0 ? script(...lines) : ''}` }];
  const { runIds } = await askHub<{ runIds: string[] }>(squad, 'start_squad', { members });
  return runIds[0]!;
}

/** Everything that axe finds. */
export async function seriousFindings(page: Page, rules?: string[]): Promise<string[]> {
  // Legacy mode opens no extra page: there are no frames to check. Only violations are needed.
  const axe = new AxeBuilder({ page })
    .setLegacyMode()
    .options({ resultTypes: ['violations'], ...(!rules && { rules: { 'target-size': { enabled: true } } }) });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
