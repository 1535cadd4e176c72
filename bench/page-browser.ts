import type { Browser } from 'playwright-core';
import { launchChromium } from '../test/support/chromium.ts';
import type { BenchSquad } from './bench-squad.ts';

/** Where a squad's page is, and a browser to open it with. */
export class PageBrowser implements AsyncDisposable {
  readonly browser: Browser;
  readonly origin: string;
  private readonly squad: BenchSquad;

  private constructor(browser: Browser, origin: string, squad: BenchSquad) {
    this.browser = browser;
    this.origin = origin;
    this.squad = squad;
  }

  static async of(squad: BenchSquad): Promise<PageBrowser> {
    const { url } = await squad.squad<{ url: string }>('open', '--no-browser');
    return new PageBrowser(await launchChromium(), new URL(url).origin, squad);
  }

  /** Of a place on the page; it opens one tab. */
  async address(path: string): Promise<string> {
    const { url } = await this.squad.squad<{ url: string }>('open', '--no-browser');
    return `${this.origin}${path}${new URL(url).hash}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}
