import {
  type DanglingReference,
  danglingReferences,
  hidesFrom,
  type ReferenceFacts,
} from '../../core/gateway/dangling-references.ts';
import { isEditorVariable, withEditorServers } from '../../core/gateway/editor-servers.ts';
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
import { matchesWildcard, NameTable } from '../../core/gateway/tool-names.ts';
import { baseEnvironment, type Roots, resolveServer } from '../../core/gateway/variables.ts';
import type { Holder } from '../../core/policy.ts';
import type { Definition } from '../../core/ports/gateway.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig, OwnServers, Server } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import type { ServerPins } from '../upstream/pins.ts';
import type { Pool, PooledServer } from '../upstream/pool.ts';

/** A subagent's run has only the servers of its file; the configuration of the workspace does not apply to it. */
export const hasOwnServers = ({ options: { servers, subagent } }: Run): boolean =>
  (servers !== null && !servers.isAdded) || subagent !== null;

/** Servers of the editor from which the run was started. Null if there are none. */
export const addedServersOf = ({ options: { servers } }: Run): OwnServers | null =>
  servers?.isAdded ? servers : null;

/** Default start timeout of a run's own server. Without it a server that hangs would block the run unnoticed. */
const OWN_START_TIMEOUT_MS = 30_000;

export const ownStartMs = (servers: Pick<OwnServers, 'startTimeouts'> | null, id: string): number =>
  servers?.startTimeouts?.[id] ?? OWN_START_TIMEOUT_MS;

export interface RunServer {
  readonly id: string;
  readonly config: Server;
  readonly grant: ServerGrant;
  /**
   * The running server. Null if the values of its variables are not known yet, or if it cannot be used for the reason
   * in `fault`.
   */
  readonly pooled: PooledServer | null;
  readonly fault: string | null;
}

export interface RunServersOptions {
  runId: RunId;
  workspace: string;
  roleId: string | null;
  roleMcp: readonly string[];
  roots: Roots;
  /** True if the servers come from the run's subagent file, not from the workspace. */
  isOwn: boolean;
  /** Servers of the run's editor, in addition to those of the workspace. */
  added: OwnServers | null;
  /** Timeout for the start of a server (default: the timeout of a request). */
  startMs?(id: string): number;
  pool: Pool;
  variables(): Promise<Readonly<Record<string, string>>>;
  /** Secrets of the agent that its own servers could reveal. */
  secrets?(): Promise<readonly Secret[]>;
  /** Ids of the workspace's roles. If absent, roles are not checked. */
  roles?(): Promise<readonly string[]>;
  /** Loads the confirmed dangling restrictions of a server. If absent, none counts as confirmed. */
  confirmed?(server: string): ServerPins;
  /** Called with the reason why a server cannot be used with these variables. Null if it can. */
  onJudged?(server: string, fault: string | null): void;
}

/** The servers of one run, according to the current configuration. */
export class RunServers {
  readonly #options: RunServersOptions;
  #variables: Readonly<Record<string, string>> | null = null;
  /** Why the variables of the run could not be read. Null if they could. */
  #fault: string | null = null;
  #secrets: readonly Secret[] = [];
  #roles: readonly string[] | null = null;
  #reading: Promise<void> | null = null;
  #config: McpConfig | null = null;
  /**
   * References in the configuration to servers or roles that do not exist, including those that the user has
   * accepted.
   */
  #references: readonly DanglingReference[] = [];
  /** Servers whose confirmations are loaded. */
  readonly #confirmedRead = new Set<string>();
  #holder: { known: readonly Known[]; holder: Holder } | null = null;
  #isLive = true;
  /** Servers of the run, in the order of the configuration. */
  list: readonly RunServer[] = [];
  /** Servers that the configuration gives to the run but defines incorrectly. */
  disabled: readonly { server: string; fault: string }[] = [];

  constructor(options: RunServersOptions) {
    this.#options = options;
  }

  /** True once every server is known to be usable or not. */
  get isReady(): boolean {
    if (this.list.length === 0) return true;
    return (this.#variables !== null || this.#fault !== null) && this.#unreadConfirmations().length === 0;
  }

  /** Known roles and confirmed restrictions, which decide whether a restriction dangles. */
  get facts(): ReferenceFacts {
    const { confirmed } = this.#options;
    return {
      roles: this.#roles,
      isConfirmed: ({ server, place }) =>
        confirmed?.(server).pins?.some(({ name }) => name === place) ?? false,
    };
  }

  /** Restrictions that name unknown servers or roles, and therefore hide servers of this run or restrict nobody. */
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

  /** The run, with the known tools of its servers, as the subject of a policy decision. */
  get holder(): Holder {
    const known = this.list.map(knownOf);
    const last = this.#holder;
    if (last?.known.length === known.length && known.every((each, at) => each === last.known[at]))
      return last.holder;
    const grants = this.list.map(({ grant }, at) => withKnownTools(grant, known[at]!));
    const holder: Holder = this.#isLive
      ? subjectWithGrants(grants, this.#options.roots.WORKSPACE_ROOT)
      : { kind: 'run', isLive: false };
    this.#holder = { known, holder };
    return holder;
  }

  /** Entries of tool lists that match none of the known tools of their server. */
  unmatched(): { entry: ListEntry; known: ReadonlySet<string> }[] {
    const { roleId, roleMcp, isOwn } = this.#options;
    return this.list.flatMap(server => {
      const known = knownOf(server);
      if (known === null || this.#config === null) return [];
      const entries = listEntries(this.#config, server.id, { roleId, roleMcp });
      return unmatchedEntries(entries, known).map(entry => ({
        entry: isOwn ? asInSubagentFile(entry) : entry,
        known,
      }));
    });
  }

  /** Notes about servers that the configuration names for the run but does not define. */
  unknownServers(): string[] {
    return this.#config === null ? [] : unknownServerNotes(this.#config, this.#options.roleId);
  }

  /** Uses a new configuration from the next request on. */
  configure(config: McpConfig | null): void {
    const { added } = this.#options;
    this.#config = added !== null && this.#isLive ? withEditorServers(config, added) : config;
    this.#update();
  }

  /** Resolves when every server is known to be usable or not. Never rejects. */
  async ready(): Promise<void> {
    if (this.isReady) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
    // The configuration may have changed while this function waited.
    if (!this.isReady) await this.ready();
  }

  of(id: string): RunServer | null {
    return this.list.find(server => server.id === id) ?? null;
  }

  /** Whether the server exists in the configuration, for any run. */
  isKnown(id: string): boolean {
    return this.#config !== null && Object.hasOwn(this.#config.servers, id);
  }

  /** Called when the run has ended. */
  release(): void {
    this.#isLive = false;
    this.configure(null);
  }

  async #read(): Promise<void> {
    if (this.#variables === null && this.#fault === null) await this.#readVariables();
    this.#update();
    const unread = this.#unreadConfirmations();
    if (unread.length === 0) return;
    // If the confirmations cannot be read, none counts.
    await Promise.allSettled(unread.map(server => this.#options.confirmed!(server).load()));
    for (const server of unread) this.#confirmedRead.add(server);
    this.#update();
  }

  async #readVariables(): Promise<void> {
    try {
      const { variables, secrets, roles } = this.#options;
      this.#roles = (await roles?.()) ?? null;
      [this.#variables, this.#secrets] = await Promise.all([variables(), secrets?.() ?? []]);
    } catch (error) {
      this.#fault = `its variables could not be read: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #unreadConfirmations(): string[] {
    if (this.#options.confirmed === undefined) return [];
    const servers = new Set(this.#references.map(({ server }) => server));
    return [...servers].filter(server => !this.#confirmedRead.has(server));
  }

  #update(): void {
    const { runId, roleId, roleMcp, roots, pool } = this.#options;
    const config = this.#config ?? NO_SERVERS;
    const before = this.list;
    this.#references = danglingReferences(config, { roles: this.#roles, isConfirmed: () => false });
    const secrets = this.#ownSecrets(config);
    this.list = withRoots(grantsOf(config, roleId, roleMcp, this.facts), roots).map(grant =>
      this.#server(grant, config.servers[grant.server]!, secrets),
    );
    this.disabled = disabledFor(config, roleId, roleMcp);
    this.#holder = null;
    // New servers are taken before old ones are released, because a server that stays in use must not stop in
    // between.
    const kept = new Set(this.list.map(server => server.pooled));
    for (const { pooled } of before) if (pooled !== null && !kept.has(pooled)) pool.release(pooled, runId);
  }

  /**
   * Each own server gets the secrets of all of them for redaction, so that no server can reveal the secret of another.
   */
  #ownSecrets({ servers }: McpConfig): readonly Secret[] {
    const { isOwn, roots } = this.#options;
    const variables = this.#variables;
    if (variables === null) return [];
    const own = Object.entries(servers).filter(([id, each]) => isOwn || this.#isAdded(id, each));
    const resolved = own.map(([id, each]) => resolveServer(id, each, { variables, roots }));
    return [...this.#secrets, ...resolved.flatMap(each => ('key' in each ? each.secrets : []))];
  }

  #isAdded(id: string, config: Server): boolean {
    return this.#options.added?.servers[id] === config;
  }

  #server(grant: ServerGrant, config: Server, ownSecrets: readonly Secret[]): RunServer {
    const { runId, workspace, roots, isOwn, startMs, pool, onJudged } = this.#options;
    const { server: id } = grant;
    const server = { id, config, grant, pooled: null, fault: this.#fault };
    if (this.#variables === null) return server;
    const isAdded = this.#isAdded(id, config);
    const variables = isAdded ? this.#variables : withoutEditorVariables(this.#variables);
    const secrets = isOwn || isAdded ? ownSecrets : [];
    const resolved = resolveServer(id, config, { variables, roots });
    const fault =
      'key' in resolved ? null : 'missing' in resolved ? missing(resolved.missing) : resolved.fault;
    // Only servers of the workspace are reported, not those of the editor.
    if (!isAdded) onJudged?.(id, fault);
    if (!('key' in resolved)) return { ...server, fault };
    return {
      ...server,
      grant: withFolderOf(grant, resolved.server),
      pooled: pool.take({
        ...{ runId, workspace, id, config, resolved, secrets },
        // A server of the editor gets the usual environment, as if the workspace had configured it.
        ...(isAdded
          ? { isOwn: true, variables: baseEnvironment(withoutEditorVariables(variables)) }
          : { isOwn, variables }),
        startMs: startMs?.(id) ?? (isAdded ? OWN_START_TIMEOUT_MS : undefined),
      }),
    };
  }
}

const withoutEditorVariables = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !isEditorVariable(name)));

export const NO_SERVERS: McpConfig = {
  servers: {},
  agentServers: {},
  shared: [],
  toolRestrictions: {},
  argumentRules: [],
};

type Known = ReadonlySet<string> | null;

const knownOf = ({ pooled }: RunServer): Known => pooled?.catalogue.knownTools ?? null;

/** Uses the names that tool lists have in a subagent's file: `enabledTools` and `disabledTools`. */
const asInSubagentFile = (entry: ListEntry): ListEntry => ({
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

/**
 * Why a server cannot be used now. Null when it can, or when that is unknown. A server that is being checked keeps its
 * tools in the lists; a call of such a tool fails with the reason.
 */
export function faultOf({ pooled, fault }: RunServer): string | null {
  if (pooled === null) return fault;
  const { health, fault: why } = pooled.upstream;
  const isDown = health === 'retrying' || health === 'cooling' || health === 'unusable';
  return isDown ? (why ?? 'it does not answer') : null;
}

export type OfferKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** The definitions of one kind that a run gets from its servers. */
export interface Offer {
  /** Definitions for lists, without those of servers that are down. */
  shown: Definition[];
  /**
   * Definitions by exposed name, including those of servers that are down, so that a caller gets the reason. `own` is
   * the server's own name.
   */
  byName: ReadonlyMap<string, { server: RunServer; own: string }>;
}

export function offerOf(
  kind: OfferKind,
  servers: readonly RunServer[],
  isGranted: (server: RunServer, own: string) => boolean,
  onClash: (name: string) => void,
): Offer {
  const granted = servers.flatMap(server =>
    (server.pooled?.catalogue[kind] ?? [])
      .filter(({ own }) => isGranted(server, own))
      .map(item => ({ server, ...item })),
  );
  const names =
    kind === 'tools' || kind === 'prompts'
      ? new NameTable(granted.map(({ server, own }) => [server.id, own]))
      : null;
  for (const { name } of names?.clashes ?? []) onClash(name);
  const offer = { shown: [] as Definition[], byName: new Map<string, { server: RunServer; own: string }>() };
  for (const { server, own, exposed } of granted) {
    if (names !== null && names.nameOf(server.id, own) === null) continue;
    offer.byName.set(exposed.name, { server, own });
    if (server.pooled?.catalogue.isWithdrawn === false) offer.shown.push(exposed);
  }
  return offer;
}

/**
 * Whether a URI can be the result of a template. `{name}` stands for text within one path segment; only forms such as
 * `{+path}` may contain slashes. A path with `..` never matches.
 */
export function matchesUriTemplate(template: string, uri: string): boolean {
  if (uri.includes('*') || /(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false;
  const literal = template.replace(/\{[^{}]*\}/g, '');
  if (literal.includes('*') || !matchesWildcard(template.replace(/\{[^{}]*\}/g, '*'), uri)) return false;
  return /\{[+#/][^{}]*\}|\{[^{}]*\*\}/.test(template) || slashes(uri) === slashes(literal);
}

const slashes = (text: string): number => text.split('/').length - 1;
