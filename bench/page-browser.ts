import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../test/support/chromium.ts';
import { pageKey } from '../test/support/page-key.ts';
import type { BenchSquad } from './bench-squad.ts';

/** Where a squad's page is, and a browser to open it with. */
export class PageBrowser implements AsyncDisposable {
  readonly browser: Browser;
  readonly origin: string;
  private readonly home: string;

  private constructor(browser: Browser, origin: string, home: string) {
    this.browser = browser;
    this.origin = origin;
    this.home = home;
  }

  static async of(squad: BenchSquad): Promise<PageBrowser> {
    const { url } = await squad.squad<{ url: string }>('open', '--no-browser');
    return new PageBrowser(await launchChromium(), new URL(url).origin, squad.home);
  }

  get token(): string {
    return readFileSync(join(this.home, 'token'), 'utf8').trim();
  }

  /** Of a place on the page; it opens one tab. */
  async address(path: string): Promise<string> {
    return `${this.origin}${path}${await pageKey(this.home, this.origin)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}
