import type { Definition } from '../../core/ports/gateway.ts';
import { SquadError } from '../../schema/error.ts';
import { atMost } from '../patience.ts';
import type { Timers } from '../timers.ts';
import type { Offers } from './offers.ts';
import type { RunServer, RunServers } from './run-servers.ts';
import { faultOf } from './standing.ts';

/** How long a list waits for servers nobody has seen yet. */
const PATIENCE_MS = 5_000;

/** The lists of one run. Each waits a moment for what nobody can know yet; what comes later is told with a change notice. */
export class RunLists {
  readonly #servers: RunServers;
  readonly #offers: Offers;
  readonly #timers: Timers;
  readonly #isOwn: boolean;

  /** `isOwn`: the servers are the run's own. It is made of them, so it is told what there is when all of them are there, or why one is not. */
  constructor(servers: RunServers, offers: Offers, timers: Timers, isOwn = false) {
    this.#servers = servers;
    this.#offers = offers;
    this.#timers = timers;
    this.#isOwn = isOwn;
  }

  async tools(): Promise<Definition[]> {
    await this.#settled(({ pooled }) => pooled?.catalogue.isKnown === false);
    if (this.#isOwn) {
      for (const server of this.#servers.list) refuseFaulty(server);
      refuseUnmatched(this.#servers);
    }
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
    // Each has its own time to start in.
    await (this.#isOwn ? all : atMost(this.#timers, PATIENCE_MS, all));
  }
}

/** All in one: of what a list is refused with, an agent gets only the message. */
function refuseFaulty(server: RunServer): void {
  const fault = faultOf(server);
  if (fault === null) return;
  const { id, pooled } = server;
  const what = `The MCP server ${id} (${shown(server)}) cannot be used: ${fault.replace(/(?<![.!?])$/, '.')}`;
  const isLate = pooled?.upstream.condition.faultKind === 'timeout';
  const next = `Put \`mcpServers.${id}\` of the subagent's file right, or take it out${isLate ? '; if it needs longer to start, give it a `timeout` in seconds' : ''}.`;
  throw new SquadError('SPAWN_FAILED', `${what} ${next}`);
}

/** Nobody can confirm an entry of a subagent's file but whoever writes the file. */
function refuseUnmatched(servers: RunServers): void {
  const wrong = servers.unmatched().find(({ entry }) => entry.takesAway);
  if (wrong === undefined) return;
  const { server, entry, where } = wrong.entry;
  const has = [...wrong.known].sort().slice(0, MAX_NAMES).join(', ') || 'none';
  throw new SquadError(
    'SPAWN_FAILED',
    `\`${where}\` of the subagent's file names "${entry}", and the MCP server ${server} has no such tool. Its tools: ${has}. Correct the name, or take it out.`,
  );
}

const MAX_NAMES = 30;
const LONGEST_COMMAND = 120;

/** As its file says it, without the values of variables. */
function shown({ config, pooled }: RunServer): string {
  const written = 'command' in config ? [config.command, ...config.args].join(' ') : config.url;
  const words = pooled?.redactor.text(written) ?? written;
  return words.length > LONGEST_COMMAND ? `${words.slice(0, LONGEST_COMMAND).toWellFormed()}…` : words;
}

const isUnlisted =
  (kind: 'resources' | 'prompts') =>
  ({ grant, pooled }: RunServer): boolean =>
    pooled?.catalogue.wasListed === false && !grant[kind].only.some(list => list.size === 0);
