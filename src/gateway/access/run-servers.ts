import type { Clock } from '../../base/clock.ts';
import {
  type DanglingReference,
  danglingReferences,
  hidesFrom,
  type ReferenceFacts,
  runsOf,
} from '../../core/gateway/dangling-references.ts';
import { startNotice, type Unavailable, unavailable } from '../../core/gateway/degradation.ts';
import {
  disabledFor,
  grantsOf,
  type ListEntry,
  listEntries,
  type ServerGrant,
  unknownServerNotes,
  unmatchedEntries,
  withFolderOf,
  withKnownTools,
  withRoots,
} from '../../core/gateway/grants.ts';
import { type Roots, resolveServer } from '../../core/gateway/variables.ts';
import type { Holder } from '../../core/policy.ts';
import { SERVER_OF_VARIABLE } from '../../process/table/process-info.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig, OwnServers, Server } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import type { ServerPins } from '../upstream/pins.ts';
import type { Pool, PooledServer } from '../upstream/pool.ts';
import type { Offers } from './offers.ts';

/**
 * A call of a subagent has the servers that its file names, and no others: what is configured for the workspace is nothing to
 * it, now or when it changes.
 */
export const hasOwnServers = ({ options: { servers, subagent } }: Run): boolean =>
  servers !== null || subagent !== null;

/** One that says nothing hangs; whoever waits for it cannot see that. */
const START_MS = 30_000;

/** How long such a server may take to be ready. */
export const ownStartMs = (servers: Pick<OwnServers, 'startTimeouts'> | null, id: string): number =>
  servers?.startTimeouts?.[id] ?? START_MS;

/** What such a server is started with: all that its run has, and whose it is. */
export const ownEnvironment = (
  runId: RunId,
  variables: Readonly<Record<string, string>>,
): Record<string, string> => ({ ...variables, [SERVER_OF_VARIABLE]: runId });

/** Each of them is started with all that the others are told in confidence, so none may tell any of it. */
function ownSecrets(
  { servers }: McpConfig,
  values: { variables: Readonly<Record<string, string>>; roots: Roots },
): Secret[] {
  const resolved = Object.entries(servers).map(([id, server]) => resolveServer(id, server, values));
  return resolved.flatMap(each => ('key' in each ? each.secrets : []));
}

/** One server as one run has it. */
export interface RunServer {
  readonly id: string;
  readonly config: Server;
  readonly grant: ServerGrant;
  /** Null: its variables are not known yet, or it cannot be used, for the reason in `fault`. */
  readonly pooled: PooledServer | null;
  readonly fault: string | null;
}

export interface RunServersOptions {
  runId: RunId;
  workspace: string;
  roleId: string | null;
  roleMcp: readonly string[];
  roots: Roots;
  /** The servers are the run's own, not the workspace's. */
  isOwn?: boolean;
  /** How long one may take to be ready; not said: as long as for a request. */
  startMs?(id: string): number;
  pool: Pool;
  variables(): Promise<Readonly<Record<string, string>>>;
  /** What its agent has in confidence, which servers of the run's own could tell. */
  secrets?(): Promise<readonly Secret[]>;
  /** Ids of the roles of the workspace; absent: no role counts as missing. */
  roles?(): Promise<readonly string[]>;
  /** The book of restrictions for this server that were confirmed though they dangle; absent: none was. */
  confirmed?(server: string): ServerPins;
  /** Whether a server can be used with these variables: null, or why it is left out. */
  onJudged?(server: string, fault: string | null): void;
}

/** Which servers one run has, by the configuration in force. */
export class RunServers {
  readonly #options: RunServersOptions;
  #variables: Readonly<Record<string, string>> | null = null;
  #secrets: readonly Secret[] = [];
  #trouble: string | null = null;
  #reading: Promise<void> | null = null;
  #config: McpConfig | null = null;
  /** In the order of the configuration. */
  list: readonly RunServer[] = [];
  #isLive = true;
  #holder: { known: readonly Known[]; holder: Holder } | null = null;
  /** Those the run should have, and that are wrong in the file. */
  disabled: readonly { server: string; fault: string }[] = [];
  #roles: readonly string[] | null = null;
  /** Of the configuration, confirmed or not. */
  #references: readonly DanglingReference[] = [];
  /** Servers whose confirmations are loaded. */
  readonly #confirmedRead = new Set<string>();

  constructor(options: RunServersOptions) {
    this.#options = options;
  }

  /** Whether it is known of each server if it can be used. */
  get isReady(): boolean {
    if (this.list.length === 0) return true;
    return (this.#variables !== null || this.#trouble !== null) && this.#unreadConfirmations().length === 0;
  }

  get roleId(): string | null {
    return this.#options.roleId;
  }

  /** The names that decide whether a restriction dangles, as far as they are known. */
  get facts(): ReferenceFacts {
    const { confirmed } = this.#options;
    return {
      roles: this.#roles,
      isConfirmed: ({ server, place }) =>
        confirmed?.(server).pins?.some(({ name }) => name === place) ?? false,
    };
  }

  /** Restrictions for servers or roles that do not exist, which hide servers of this run or restrict nobody. */
  dangling(): DanglingReference[] {
    const { roleId } = this.#options;
    if (this.#config === null) return [];
    return danglingReferences(this.#config, this.facts).filter(reference =>
      this.list.some(
        ({ id }) =>
          hidesFrom(reference, roleId, id) ||
          (!reference.isRoleKnown && reference.nearRoles.length === 0 && reference.server === id),
      ),
    );
  }

  /** The run as somebody who may or may not use something of them, as far as it is known what they have. */
  get holder(): Holder {
    const known = this.list.map(knownOf);
    const last = this.#holder;
    if (last?.known.length === known.length && known.every((one, at) => one === last.known[at]))
      return last.holder;
    const grants = this.list.map(({ grant }, at) => withKnownTools(grant, known[at]!));
    const { WORKSPACE_ROOT } = this.#options.roots;
    const holder: Holder = this.#isLive
      ? subjectWithGrants(grants, WORKSPACE_ROOT)
      : { kind: 'run', isLive: false };
    this.#holder = { known, holder };
    return holder;
  }

  /** Names in the lists of its servers that mean none of their tools, as far as it is known what they have. */
  unmatched(): { entry: ListEntry; known: ReadonlySet<string> }[] {
    const { roleId, roleMcp, isOwn } = this.#options;
    return this.list.flatMap(server => {
      const known = knownOf(server);
      if (known === null || this.#config === null) return [];
      const entries = listEntries(this.#config, server.id, { roleId, roleMcp });
      return unmatchedEntries(entries, known).map(entry => ({
        entry: isOwn ? asInSubagent(entry) : entry,
        known,
      }));
    });
  }

  /** Servers that the configuration gives to the run and that do not exist. */
  unknownServers(): string[] {
    return this.#config === null ? [] : unknownServerNotes(this.#config, this.#options.roleId);
  }

  /** From the next question on only this counts. */
  configure(config: McpConfig | null): void {
    this.#config = config;
    this.#settle();
  }

  /** Settles, never rejects, when it is known of each server whether it can be used. */
  async ready(): Promise<void> {
    if (this.isReady) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
    // The configuration may have changed meanwhile.
    if (!this.isReady) await this.ready();
  }

  of(id: string): RunServer | null {
    return this.list.find(server => server.id === id) ?? null;
  }

  /** Whether there is such a server, for whomever. */
  isKnown(id: string): boolean {
    return this.#config !== null && Object.hasOwn(this.#config.servers, id);
  }

  /** The run is over. */
  release(): void {
    this.#isLive = false;
    this.configure(null);
  }

  async #read(): Promise<void> {
    if (this.#variables === null && this.#trouble === null) await this.#readVariables();
    this.#settle();
    const unread = this.#unreadConfirmations();
    if (unread.length === 0) return;
    // A list of confirmations that cannot be read confirms nothing.
    await Promise.all(
      unread.map(server =>
        this.#options.confirmed!(server)
          .load()
          .catch(() => {}),
      ),
    );
    for (const server of unread) this.#confirmedRead.add(server);
    this.#settle();
  }

  async #readVariables(): Promise<void> {
    try {
      const { variables, secrets, roles } = this.#options;
      this.#roles = (await roles?.()) ?? null;
      [this.#variables, this.#secrets] = await Promise.all([variables(), secrets?.() ?? []]);
    } catch (error) {
      this.#trouble = `its variables could not be read: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #unreadConfirmations(): string[] {
    if (this.#options.confirmed === undefined) return [];
    const servers = new Set(this.#references.map(({ server }) => server));
    return [...servers].filter(server => !this.#confirmedRead.has(server));
  }

  #settle(): void {
    const { runId, roleId, roleMcp, roots, pool } = this.#options;
    const before = this.list;
    const grants =
      this.#config === null ? [] : withRoots(grantsOf(this.#config, roleId, roleMcp, this.facts), roots);
    this.#references =
      this.#config === null
        ? []
        : danglingReferences(this.#config, { roles: this.#roles, isConfirmed: () => false });
    const secrets = this.#ownSecrets();
    this.list = grants.map(grant => this.#server(grant, this.#config!.servers[grant.server]!, secrets));
    this.disabled = this.#config === null ? [] : disabledFor(this.#config, roleId, roleMcp);
    this.#holder = null;
    // Taken first, released then: what stays in use is not ended in between.
    const kept = new Set(this.list.map(server => server.pooled));
    for (const { pooled } of before) if (pooled !== null && !kept.has(pooled)) pool.release(pooled, runId);
  }

  #ownSecrets(): readonly Secret[] {
    const { isOwn, roots } = this.#options;
    if (!isOwn || this.#config === null || this.#variables === null) return [];
    return [...this.#secrets, ...ownSecrets(this.#config, { variables: this.#variables, roots })];
  }

  #server(grant: ServerGrant, config: Server, secrets: readonly Secret[]): RunServer {
    const { runId, workspace, roots, isOwn, startMs, pool, onJudged } = this.#options;
    const { server: id } = grant;
    const server = { id, config, grant, pooled: null, fault: null };
    if (this.#trouble !== null) return { ...server, fault: this.#trouble };
    const variables = this.#variables;
    if (variables === null) return server;
    const resolved = resolveServer(id, config, { variables, roots });
    const fault =
      'key' in resolved ? null : 'missing' in resolved ? missing(resolved.missing) : resolved.fault;
    onJudged?.(id, fault);
    if (!('key' in resolved)) return { ...server, fault };
    return {
      ...server,
      grant: withFolderOf(grant, resolved.server),
      pooled: pool.take({
        ...{ runId, workspace, id, config, resolved, variables, secrets, isOwn },
        startMs: startMs?.(id),
      }),
    };
  }
}

type Known = ReadonlySet<string> | null;

const knownOf = ({ pooled }: RunServer): Known => pooled?.catalogue.knownTools ?? null;

/** As its file calls the lists. */
const asInSubagent = (entry: ListEntry): ListEntry => ({
  ...entry,
  where: `mcpServers.${entry.server}.${entry.takesAway ? 'disabledTools' : 'enabledTools'}`,
});

export const subjectWithGrants = (servers: readonly ServerGrant[], workspaceRoot: string): Holder => ({
  kind: 'run',
  isLive: true,
  grants: { servers, workspaceRoot },
});

const missing = (names: readonly string[]): string =>
  names.length === 1
    ? `the variable ${names[0]} is not set`
    : `the variables ${names.join(', ')} are not set`;

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
