import { randomBytes } from 'node:crypto';

const PAGE_NAME = /^squad-[0-9a-f]{20}\.localhost:\d{1,5}$/;

/** A name under `.localhost`, which browsers resolve to loopback by themselves. Nobody can know it before this hub uses it. */
export const newPageName = (): string => `squad-${randomBytes(10).toString('hex')}.localhost`;

/** The web UI of some hub, perhaps of one that has ended. */
export const isPageName = (host: string): boolean => PAGE_NAME.test(host);

/** Values of `Host` under which this hub answers, port included. */
export class Hosts {
  /** Origin of the web UI. Storage and workers of a browser belong to one origin, so nothing left there by others reaches it. */
  readonly page: string;
  /** Addresses of the port, for programs that send a token. */
  readonly addresses: readonly string[];
  private isPageAtAddress = false;

  constructor(pageName: string, port: number) {
    this.page = `${pageName}:${port}`;
    this.addresses = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  }

  isAddress(host: string): boolean {
    return this.addresses.includes(host);
  }

  isPage(host: string): boolean {
    return host === this.page || (this.isPageAtAddress && host === this.addresses[0]);
  }

  /** For browsers that do not resolve the name: from now on the web UI is at 127.0.0.1 as well. */
  openAtAddress(): string {
    this.isPageAtAddress = true;
    return this.addresses[0]!;
  }
}
