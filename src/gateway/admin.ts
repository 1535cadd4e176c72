import type { Clock } from '../base/clock.ts';
import { danglingChanges, danglingReferences } from '../core/gateway/dangling-references.ts';
import { unmatchedChanges } from '../core/gateway/list-entries.ts';
import { sourceHash } from '../core/gateway/variables.ts';
import type {
  Audit,
  GatewayAdmin,
  McpConfigs,
  PendingChange,
  SeenTool,
  ServerFault,
  UpstreamStatus,
} from '../core/ports/gateway.ts';
import type { McpConfig, OwnServers, Server } from '../schema/mcp-config.ts';
import { ownStartMs } from './access/own-servers.ts';
import { lookAtTools } from './look-at-tools.ts';
import { configuredStatus, disabledStatus, pooledStatus } from './server-status.ts';
import type { Timers } from './timers.ts';
import type { LeftOut } from './upstream/left-out.ts';
import type { PinBook } from './upstream/pins.ts';
import type { Pool } from './upstream/pool.ts';
import type { PooledServer } from './upstream/pooled-server.ts';

export interface AdminOptions {
  configs: McpConfigs;
  pool: Pool;
  books(key: PinBook['key']): PinBook;
  audit: Audit;
  clock: Clock;
  timers: Timers;
  leftOut: LeftOut;
  /** The book of restrictions for this server that were confirmed though they dangle. */
  confirmed(workspace: string, server: string): PinBook;
  onConfirmed(workspace: string): void;
  /** Those with runs. */
  workspaces(): string[];
}

/** What people ask of the gateway. */
export class Admin implements GatewayAdmin {
  readonly #options: AdminOptions;

  constructor(options: AdminOptions) {
    this.#options = options;
  }

  async status(workspace: string | null): Promise<UpstreamStatus[]> {
    const { pool, workspaces } = this.#options;
    const all =
      workspace === null ? [...workspaces(), ...pool.all().map(server => server.workspace)] : [workspace];
    const lists = [...new Set(all)].sort().map(one => this.#statusOf(one));
    return (await Promise.all(lists)).flat();
  }

  async toolsOf(
    workspace: string,
    roleId: string | null,
    roleMcp: readonly string[],
    env: Record<string, string>,
    roles?: readonly string[],
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }> {
    const { pool, leftOut, timers } = this.#options;
    const confirmed = (server: string) => this.#options.confirmed(workspace, server);
    const config = await this.#config(workspace);
    const onJudged = (server: string, fault: string | null) => leftOut.judged(workspace, server, fault);
    const look = { workspace, config, roleId, roleMcp, env, pool, timers, onJudged, roles, confirmed };
    return await lookAtTools(look);
  }

  async toolsOfSubagent(
    directory: string,
    servers: OwnServers,
    env: Record<string, string>,
  ): Promise<{ tools: SeenTool[]; faults: ServerFault[] }> {
    const { pool, timers } = this.#options;
    const startMs = (id: string) => ownStartMs(servers, id);
    const own = { workspace: directory, config: servers, roleId: null, roleMcp: [], startMs };
    return await lookAtTools({ ...own, env, pool, timers });
  }

  async knownTools(workspace: string): Promise<Record<string, string[]>> {
    const books = await this.#books(workspace);
    await Promise.all(books.map(book => book.load()));
    return Object.fromEntries(
      books.flatMap(({ key, pins }) =>
        pins === null ? [] : [[key.server, [...new Set(pins.map(({ name }) => name))].sort()]],
      ),
    );
  }

  async pending(workspace: string, roles?: readonly string[]): Promise<PendingChange[]> {
    const config = await this.#config(workspace);
    const books = await this.#books(workspace);
    const lists = books.map(async book => [...(await book.pending()), ...this.#unmatched(config, book)]);
    return [...(await this.#dangling(workspace, config, roles)), ...(await Promise.all(lists)).flat()];
  }

  async approve(
    workspace: string,
    { server, tool, hashes }: { server?: string; tool?: string; hashes?: readonly string[] },
    roles?: readonly string[],
  ): Promise<PendingChange[]> {
    const { audit } = this.#options;
    const config = await this.#config(workspace);
    const isMeant = (change: PendingChange) =>
      (server ?? change.server) === change.server &&
      (tool ?? change.tool) === change.tool &&
      (hashes?.includes(change.hash) ?? true);
    const dangling = (await this.#dangling(workspace, config, roles)).filter(isMeant);
    for (const change of dangling)
      await this.#options.confirmed(workspace, change.server).confirm([change.tool]);
    const approved: PendingChange[] = [...dangling];
    for (const book of await this.#books(workspace)) {
      if (server !== undefined && book.key.server !== server) continue;
      approved.push(...(await book.approve(isMeant)));
      const confirmed = this.#unmatched(config, book).filter(isMeant);
      if (confirmed.length > 0) await book.confirm(confirmed.map(change => change.tool));
      approved.push(...confirmed);
    }
    for (const change of approved)
      audit.append({
        runId: null,
        roleId: null,
        workspace,
        server: change.server,
        kind: 'approval',
        name: change.tool,
        decision: 'allowed',
        outcome: change.kind,
        resultHash: change.hash,
      });
    await audit.flush();
    if (dangling.length > 0) this.#options.onConfirmed(workspace);
    return approved;
  }

  async #statusOf(workspace: string): Promise<UpstreamStatus[]> {
    const { pool, leftOut, clock } = this.#options;
    const config = await this.#config(workspace);
    const pooled = withoutPredecessors(pool.all().filter(server => server.workspace === workspace));
    const configured = Object.entries(config.servers).filter(
      ([id]) => !pooled.some(server => server.id === id && !server.isOwn),
    );
    return [
      ...Object.entries(config.disabled ?? {}).map(([id, disabled]) =>
        disabledStatus(workspace, id, disabled, clock.now()),
      ),
      ...pooled.map(pooledStatus),
      ...(await Promise.all(
        configured.map(async ([id, server]) => {
          const book = this.#book(workspace, id, server);
          await book.load();
          return configuredStatus(book, server, leftOut.of(workspace, id), clock.now());
        }),
      )),
    ];
  }

  async #dangling(
    workspace: string,
    config: McpConfig,
    roles: readonly string[] | undefined,
  ): Promise<PendingChange[]> {
    const { confirmed, clock } = this.#options;
    const facts = { roles: roles ?? null, isConfirmed: () => false };
    const references = danglingReferences(config, facts);
    const books = new Map(references.map(({ server }) => [server, confirmed(workspace, server)]));
    await Promise.all([...books.values()].map(book => book.load()));
    const pending = references.filter(
      ({ server, place }) => !books.get(server)!.pins?.some(({ name }) => name === place),
    );
    return danglingChanges(pending, clock.now());
  }

  /** Of a book that is loaded. */
  #unmatched(config: McpConfig, { key, pins }: PinBook): PendingChange[] {
    if (pins === null) return [];
    const known = new Set(pins.map(({ name }) => name));
    return unmatchedChanges(config, key.server, known, this.#options.clock.now());
  }

  async #books(workspace: string): Promise<PinBook[]> {
    const { servers } = await this.#config(workspace);
    return Object.entries(servers).map(([id, server]) => this.#book(workspace, id, server));
  }

  #book(workspace: string, id: string, server: Server): PinBook {
    return this.#options.books({ workspace, server: id, source: sourceHash(server) });
  }

  async #config(workspace: string): Promise<McpConfig> {
    const { config } = await this.#options.configs.of(workspace);
    return config ?? { servers: {}, agentServers: {}, shared: [], toolRestrictions: {}, argumentRules: [] };
  }
}

/** What nobody uses any more, and of which there is a newer one: another value of a variable made it another server. */
function withoutPredecessors(servers: PooledServer[]): PooledServer[] {
  const newest = new Map(servers.flatMap(server => (server.isOwn ? [] : [[server.id, server]])));
  return servers.filter(server => server.users.size > 0 || newest.get(server.id) === server);
}
