import type { Definition } from '../core/ports/gateway.ts';
import type { Offers } from './offers.ts';
import { atMost } from './patience.ts';
import type { RunServer, RunServers } from './run-servers.ts';
import type { Timers } from './timers.ts';

/** How long a list waits for servers nobody has seen yet. */
const PATIENCE_MS = 5_000;

/** The lists of one run. Each waits a moment for what nobody can know yet; what comes later is told with a change notice. */
export class RunLists {
  readonly #servers: RunServers;
  readonly #offers: Offers;
  readonly #timers: Timers;

  constructor(servers: RunServers, offers: Offers, timers: Timers) {
    this.#servers = servers;
    this.#offers = offers;
    this.#timers = timers;
  }

  async tools(): Promise<Definition[]> {
    await this.#settled(({ pooled }) => pooled?.catalogue.isKnown === false);
    return this.#offers.shown('tools');
  }

  async resources(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#offers.shown('resources');
  }

  async templates(): Promise<Definition[]> {
    await this.#settled(isUnlisted('resources'));
    return this.#offers.shown('templates');
  }

  async prompts(): Promise<Definition[]> {
    await this.#settled(isUnlisted('prompts'));
    return this.#offers.shown('prompts');
  }

  async #settled(isUnknown: (server: RunServer) => boolean): Promise<void> {
    const servers = this.#servers;
    if (servers.isReady && !servers.list.some(isUnknown)) return;
    const all = servers.ready().then(async () => {
      await Promise.all(servers.list.map(({ pooled }) => pooled?.catalogue.load().catch(() => {})));
      await Promise.all(servers.list.filter(isUnknown).map(({ pooled }) => pooled?.upstream.start()));
    });
    await atMost(this.#timers, PATIENCE_MS, all);
  }
}

const isUnlisted =
  (kind: 'resources' | 'prompts') =>
  ({ grant, pooled }: RunServer): boolean =>
    pooled?.catalogue.wasListed === false && !grant[kind].only.some(list => list.size === 0);
