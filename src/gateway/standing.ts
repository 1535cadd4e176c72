import { startNotice, type Unavailable, unavailable } from '../core/gateway/degradation.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Offers } from './offers.ts';
import type { RunServer, RunServers } from './run-servers.ts';

/** How the servers of one run stand, in words for its agent. */
export class Standing {
  readonly #servers: RunServers;
  readonly #offers: Offers;
  readonly #clock: Clock;
  readonly #ownTools: boolean;

  constructor(servers: RunServers, offers: Offers, clock: Clock, ownTools: boolean) {
    this.#servers = servers;
    this.#offers = offers;
    this.#clock = clock;
    this.#ownTools = ownTools;
  }

  /** What the agent reads instead of a result. */
  unavailable(id: string, fault: string): string {
    const server = this.#servers.of(id);
    return unavailable(this.#state(id, fault, server?.pooled?.upstream.condition.retryAt ?? null));
  }

  /** Null: all is well, or is not known to be otherwise. */
  notice(): string | null {
    const down = this.#servers.list.flatMap(server => {
      const fault = faultOf(server);
      return fault === null
        ? []
        : [this.#state(server.id, fault, server.pooled?.upstream.condition.retryAt ?? null)];
    });
    return startNotice(down);
  }

  #state(server: string, fault: string, retryAt: number | null): Unavailable {
    const retryInMs = retryAt === null ? null : Math.max(0, retryAt - this.#clock.now());
    return { server, fault, retryInMs, others: this.#others(server), ownTools: this.#ownTools };
  }

  #others(server: string): { server: string; tools: string[] }[] {
    const byServer = new Map<string, string[]>();
    for (const { id, name } of this.#offers.shownTools()) {
      if (id === server || this.#servers.of(id)?.pooled?.upstream.condition.health !== 'up') continue;
      byServer.set(id, [...(byServer.get(id) ?? []), name]);
    }
    return [...byServer].map(([id, tools]) => ({ server: id, tools }));
  }
}

/** Why a server cannot be used now; null when it can, or when that is not known yet. */
export function faultOf({ pooled, fault }: RunServer): string | null {
  if (pooled === null) return fault;
  const { health, fault: why } = pooled.upstream.condition;
  const isDown = health === 'retrying' || health === 'cooling' || health === 'unusable';
  return isDown ? (why ?? 'it does not answer') : null;
}
