import { AxeBuilder } from '@axe-core/playwright';
import type { APIResponse, Browser, BrowserContext, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { askHub } from './ask-hub.ts';
import { launchChromium } from './chromium.ts';
import { script } from './git-squad.ts';
import type { TestSquad } from './squad.ts';
import { webKey } from './web-key.ts';

const PAGE_TIMEOUT_MS = 20_000;

export interface OpenOptions {
  width?: number;
  theme?: 'light' | 'dark';
  /** A tab beside those that are open there, instead of a browser that has seen nothing. */
  beside?: Page;
}

/** A squad and its page in one Chromium. Whatever a page complains of fails the test, unless it was expected. */
export class Pages {
  readonly squad: TestSquad;
  browser!: Browser;
  origin!: string;
  #contexts = new Set<BrowserContext>();
  #problems: string[] = [];
  #expected: RegExp[] = [];

  constructor(squad: TestSquad) {
    this.squad = squad;
    // A hub that nobody looks at between two tests stays.
    squad.env.SQUAD_HUB_LINGER_MS = '120000';
  }

  async start(): Promise<void> {
    this.browser = await launchChromium();
    await this.squad.unlimited();
    await this.squad.set('stop.grace_ms', '200');
    await this.restart();
  }

  /** The hub is there, or again: at which origin its page is now. */
  async restart(): Promise<void> {
    this.origin = new URL(await this.address()).origin;
  }

  /** URL that `squad open` prints. */
  async address(): Promise<string> {
    const { stdout } = await this.squad.run(['open', '--no-browser']);
    return /http:\S+/.exec(stdout)![0];
  }

  /** As `squad open` would: with a key, for which the page gets what it keeps for the tab. */
  async open(path = '/', options: OpenOptions = {}): Promise<Page> {
    const page = await this.blank(options);
    await this.enter(page, path);
    return page;
  }

  async enter(page: Page, path: string): Promise<void> {
    const [place, hash] = path.split('#');
    await page.goto(`${this.origin}${place}${await webKey(this.squad)}`);
    await page.locator('main h1').first().waitFor({ state: 'attached' });
    if (hash !== undefined) await page.goto(`${this.origin}${path}`);
  }

  /** A tab that is nowhere yet. */
  async blank({ width = 1280, theme = 'light', beside }: OpenOptions = {}): Promise<Page> {
    const context =
      beside?.context() ??
      (await this.browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme }));
    context.setDefaultTimeout(PAGE_TIMEOUT_MS);
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

/** For a test file: starts before its tests, is quiet after each, and takes the squad along at the end. */
export function usePages(squad: TestSquad): Pages {
  const pages = new Pages(squad);
  beforeAll(() => pages.start());
  afterEach(() => pages.closeAll());
  afterAll(async () => {
    await pages.browser?.close();
    await squad[Symbol.asyncDispose]();
  });
  return pages;
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

/** Violations that axe rates as serious or critical. */
export async function seriousFindings(page: Page, rules?: string[]): Promise<string[]> {
  // There are no frames to look into, for which it would open a page of its own; nobody reads what it found in order.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
