import type { Clock } from '../../base/clock.ts';
import { runsOf } from '../../core/gateway/dangling-references.ts';
import { startNotice, type Unavailable, unavailable } from '../../core/gateway/degradation.ts';
import type { Offers } from './offers.ts';
import type { RunServer, RunServers } from './run-servers.ts';

/** The result of the run names the entry: the agent cannot change the file. */
const hiddenFrom = (roleId: string | null, missing: string): string =>
  `its tools are hidden from ${runsOf(roleId)}, because a restriction names a ${missing} that does not exist`;

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
    const { roleId, list } = this.#servers;
    const dangling = new Set(list.flatMap(({ id, grant }) => (grant.dangling.length > 0 ? [id] : [])));
    const unmatched = new Set(
      this.#servers
        .unmatched()
        .flatMap(({ entry: { server, takesAway } }) => (takesAway && !dangling.has(server) ? [server] : [])),
    );
    return startNotice([
      ...this.#servers.disabled.map(({ server, fault }) => this.#state(server, fault, null)),
      ...down,
      ...[...dangling].map(server => this.#state(server, hiddenFrom(roleId, 'server or role'), null)),
      ...[...unmatched].map(server => this.#state(server, hiddenFrom(roleId, 'tool'), null)),
    ]);
  }

  #state(server: string, fault: string, retryAt: number | null): Unavailable {
    const retryInMs = retryAt === null ? null : Math.max(0, retryAt - this.#clock.now());
    return { server, fault, retryInMs, others: this.#others(server), ownTools: this.#ownTools };
  }

  #others(server: string): Unavailable['others'] {
    const shown = this.#offers.shownTools();
    return this.#servers.list.flatMap(({ id, pooled, grant }) => {
      const health = id === server ? null : pooled?.upstream.condition.health;
      if (health === 'up')
        return [{ server: id, tools: shown.filter(tool => tool.id === id).map(({ name }) => name) }];
      const hasAny = grant.tools.only.every(list => list.size > 0);
      return health === 'starting' && hasAny ? [{ server: id, tools: [], isStarting: true }] : [];
    });
  }
}

/** Why a server cannot be used now; null when it can, or when that is not known yet. One that is being checked has its tools: whoever calls them is told. */
export function faultOf({ pooled, fault }: RunServer): string | null {
  if (pooled === null) return fault;
  const { health, fault: why } = pooled.upstream.condition;
  const isDown = health === 'retrying' || health === 'cooling' || health === 'unusable';
  return isDown ? (why ?? 'it does not answer') : null;
}
