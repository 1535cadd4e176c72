import type { IncomingMessage } from 'node:http';
import { percentDecoded } from '../base/text.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { isOwnPeer } from '../http/own-peer.ts';
import type { HttpServer } from '../http/serve.ts';
import { Sessions } from '../http/sessions.ts';
import { type CallerPorts, callerOfRun } from '../hub/callers.ts';
import { bearerOf, hashOf, ownToken } from '../hub/token.ts';
import { type McpFaceOptions, mcpFace } from '../mcp/face.ts';
import type { EndNotices, TeamUpdates } from '../mcp/notices.ts';
import type { UserServices } from '../operations/operation.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import { toolsetsIn } from '../schema/toolset.ts';
import type { HttpHandler } from '../wire/http/serve-http.ts';
import { type AskingRun, type HttpPeerPorts, HttpPeers } from './http-peers.ts';
import { followTeam, type ListName, notifyListChanged } from './serve-views.ts';
import { type LazyWebUi, lazyWebUi } from './web-parts.ts';

export interface HttpPortOptions {
  services: UserServices;
  version: string;
  /** Port that the user set. Null means the last used port, or the default. */
  port: number | null;
  tokenFile: string;
  /** Environment of the terminal that opened the web UI, because a browser has no environment. */
  webEnvironment(): Record<string, string>;
  /** The folder of the bundled programs. */
  programs: string;
  identities: CallerPorts;
  runsDir: string;
  rooms: HttpPeerPorts['rooms'];
  notices: EndNotices;
  teamUpdates: TeamUpdates;
  serversOf: McpFaceOptions['serversOf'];
  /** Metrics in Prometheus text format. */
  metrics(): Promise<string>;
  onInFlight(change: number): void;
  /** Called with the number of requests that are being answered, including open streams. */
  onOpen(count: number): void;
  log(level: 'debug' | 'warning' | 'error', message: string, cause: unknown): void;
}

const DEFAULT_PORT = 3001;
/** Each client of an older MCP revision has one session. Agents have few, the user may have many. */
const MAX_SESSIONS = { ofRun: 16, ofUser: 64 };

type Asking = Pick<McpFaceOptions, 'caller' | 'toolsets'>;

/** The hub's HTTP port on loopback, for the user's clients and for agents, each with a token. Opened when first needed. */
export class HttpPort {
  private readonly options: HttpPortOptions;
  private opening: Promise<HttpServer | null> | null = null;
  private handler: HttpHandler | null = null;
  private address: string | null = null;
  private webOrigin: string | null = null;
  private webUi: LazyWebUi | null = null;
  private readonly callers = new Map<RunId, Promise<Caller>>();

  constructor(options: HttpPortOptions) {
    this.options = options;
  }

  /** Null until the port is open. */
  get url(): string | null {
    return this.address;
  }

  /** Number of open MCP sessions. */
  get sessions(): number {
    return this.handler?.sessions() ?? 0;
  }

  /** Origin of the web UI. Null until the port is open. */
  get web(): string | null {
    return this.webOrigin;
  }

  async openWebUi(ip: boolean): Promise<{ origin: string; key: string } | null> {
    const http = await this.opening;
    if (!http || !this.webUi) return null;
    const host = ip ? http.hosts.openAtAddress() : http.hosts.web;
    return { origin: `http://${host}`, key: await this.webUi.key(host) };
  }

  /** Settles when the port is open or could not be opened. */
  async open(): Promise<void> {
    this.opening ??= this.bind().catch(thrown => {
      this.options.log('warning', 'HTTP is off', thrown);
      return null;
    });
    await this.opening;
  }

  /** Closes the port if it is open, and keeps it from being opened later. */
  async close(): Promise<void> {
    this.opening ??= Promise.resolve(null);
    await (await this.opening)?.close();
  }

  /** Invalidates the token of an ended run and closes everything that was opened with it. */
  async endSessions(runId: RunId): Promise<void> {
    this.callers.delete(runId);
    await this.handler?.endSessions(runId);
  }

  /** Notifies a run's clients that a list of tools, resources or prompts has changed. */
  tell(runId: RunId, what: ListName): void {
    if (this.handler) notifyListChanged(what, this.handler.of(runId));
  }

  /** Cached: an agent sends many requests, and its identity does not change. */
  private callerOf({ run, isProven }: AskingRun): Promise<Caller> {
    if (!isProven) return callerOfRun(run, this.options.identities, false);
    const known = this.callers.get(run.id) ?? callerOfRun(run, this.options.identities);
    this.callers.set(run.id, known);
    return known;
  }

  private async bind(): Promise<HttpServer> {
    const [{ createHttpHandler }, { serveHttp }] = await Promise.all([
      import('../wire/http/serve-http.ts'),
      import('../http/serve.ts'),
    ]);
    const {
      services,
      version,
      port,
      tokenFile,
      webEnvironment,
      programs,
      identities,
      notices,
      teamUpdates,
      serversOf,
      onInFlight,
      onOpen,
      log,
    } = this.options;
    const stored = Number((await services.store.settings())['http.port']);
    const user = [{ tokenHash: hashOf(ownToken(tokenFile)) }];
    const sessions = new Sessions();
    const bearers = new WeakMap<IncomingMessage, AskingRun>();
    const sessionOf = new WeakMap<IncomingMessage, string>();
    const peers = new HttpPeers(this.options);
    const asking = new WeakMap<IncomingMessage, Asking>();
    let inFlight = 0;
    const callerOf = (asking: AskingRun) => this.callerOf(asking);
    const mcp = createHttpHandler({
      owner: request => bearers.get(request)?.run.id ?? '',
      maxSessions: owner => (owner === '' ? MAX_SESSIONS.ofUser : MAX_SESSIONS.ofRun),
      build: request =>
        mcpFace({ services, version, transport: 'http', ...asking.get(request)!, notices, serversOf }),
      onInFlight: count => {
        onInFlight(count - inFlight);
        inFlight = count;
      },
      onError: error => log('debug', 'MCP over HTTP', error),
    });
    notices.join(mcp.of(''));
    const webUi = lazyWebUi({
      ...{ services, version, programs, onInFlight, log },
      // An agent can read the browser's command line, which contains the key, so the peer must not be an agent's
      // process.
      isOwnPeer: async socket => (await isOwnPeer(socket)) && (await peers.withUserToken(socket)) === null,
      sessions: {
        open: host => sessions.open(host),
        proof: (...asked) => sessions.proof(...asked),
        hold: id => sessions.hold(id),
        of: request => sessionOf.get(request) ?? null,
      },
      callerOf: async request => {
        const run = bearers.get(request);
        return run ? callerOf(run) : { ...userOverHttp(request), env: webEnvironment() };
      },
    });
    const http = await serveHttp({
      port: port || stored || DEFAULT_PORT,
      admits: async (token, request, hosts) => {
        const host = request.headers.host!;
        const session = isApi(request) ? sessions.admit(token, host) : null;
        if (session !== null) sessionOf.set(request, session);
        // Tokens that outlive this hub are for programs, which address the port by IP. A browser never needs such a
        // token.
        if (session === null && !hosts.isAddress(host)) return false;
        const run = session === null ? bearerOf(identities.liveRuns(), token) : null;
        const isUsers = session !== null || bearerOf(user, token) !== null;
        if (!run && !isUsers) return false;
        const { socket } = request;
        const found = run ? await peers.withRunToken(socket, run) : await peers.withUserToken(socket);
        if (found && 'status' in found) return found;
        if (found) bearers.set(request, found);
        return true;
      },
      mcp: {
        handle: async (request, response) => {
          const run = bearers.get(request);
          const { 'squad-toolsets': toolsets = [] } = request.headers;
          asking.set(request, {
            caller: run ? await callerOf(run) : userOverHttp(request),
            toolsets: toolsetsIn([toolsets].flat().join()),
          });
          if (listens(request)) {
            const { caller } = asking.get(request)!;
            const owner = run?.run.id ?? '';
            const leave = followTeam(teamUpdates, services.workspaces, caller, owner, mcp.of(owner));
            response.once('close', leave);
          }
          await mcp.handle(request, response);
        },
        close: () => mcp.close(),
      },
      web: webUi,
      metrics: async request => (bearers.has(request) ? null : this.options.metrics()),
      onOpen,
      onError: thrown => log('error', 'A bug in HTTP', thrown),
    });
    this.handler = mcp;
    this.address = `http://127.0.0.1:${http.port}/mcp`;
    this.webOrigin = `http://${http.hosts.web}`;
    this.webUi = webUi;
    // The next hub opens the same port, so that clients' configurations stay valid.
    if (http.port !== stored) await services.store.setSetting('http.port', String(http.port));
    return http;
  }
}

const isApi = ({ url }: IncomingMessage): boolean => url!.startsWith('/api/');

/** True for a request that stays open for notifications, from a client of the older or the current MCP revision. */
const listens = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' || headers['mcp-method'] === 'subscriptions/listen';

/** An HTTP request has no folder and no environment: it names the workspace, and agents get the saved environment. */
function userOverHttp({ headersDistinct }: IncomingMessage): Caller {
  const { 'squad-workspace': workspaces = [], 'squad-client': clients = [] } = headersDistinct;
  if (workspaces.length > 1)
    throw new SquadError('INVALID_INPUT', 'The request has more than one Squad-Workspace header', {
      suggestions: ['Send exactly one: "Squad-Workspace: /absolute/path".'],
    });
  const [client = ''] = clients;
  return {
    // The name "terminal" is reserved for terminals on the hub's socket.
    client: client.trim() === 'terminal' ? 'client terminal' : CLIENT_NAME.test(client) ? client : null,
    cwd: null,
    workspace: workspaces[0] === undefined ? null : workspaceIn(workspaces[0]),
    env: {},
    parent: null,
  };
}

const CLIENT_NAME = /^[\w][\w .-]{0,39}$/;

/** Browsers send characters beyond ASCII in a header only percent-encoded. */
function workspaceIn(header: string): string {
  const encoded = /^utf-8''(.*)$/is.exec(header)?.[1];
  // Node decodes headers as Latin-1.
  if (encoded === undefined) return Buffer.from(header, 'latin1').toString('utf8');
  const path = percentDecoded(encoded);
  if (path === null)
    throw new SquadError('INVALID_INPUT', 'The Squad-Workspace header is not percent-encoded UTF-8', {
      suggestions: [
        'Send the path with its bytes in percent encoding, for example "utf-8\'\'/home/me/caf%C3%A9".',
      ],
    });
  return path;
}
