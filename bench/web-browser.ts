import { type Browser, chromium } from 'playwright-core';
import { chromiumOptions } from '../test/support/chromium.ts';
import type { BenchSquad } from './bench-squad.ts';

/** A browser, and the origin of the web UI that it opens. */
export class WebBrowser implements AsyncDisposable {
  readonly browser: Browser;
  readonly origin: string;
  private readonly squad: BenchSquad;

  private constructor(browser: Browser, origin: string, squad: BenchSquad) {
    this.browser = browser;
    this.origin = origin;
    this.squad = squad;
  }

  static async of(squad: BenchSquad): Promise<WebBrowser> {
    const { url } = await squad.squad<{ url: string }>('open', '--no-browser');
    // The browser of a user, not the headless shell of the tests.
    const browser = await chromium.launch(chromiumOptions());
    return new WebBrowser(browser, new URL(url).origin, squad);
  }

  /** URL that opens one tab at this path. */
  async address(path: string): Promise<string> {
    const { url } = await this.squad.squad<{ url: string }>('open', '--no-browser');
    return `${this.origin}${path}${new URL(url).hash}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}
