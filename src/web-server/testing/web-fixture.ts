import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Caller } from '../../core/ports/workspace.ts';
import { isOwnPeer } from '../../http/own-peer.ts';
import { type HttpServer, serveHttp } from '../../http/serve.ts';
import { Sessions } from '../../http/sessions.ts';
import { dispatch } from '../../operations/dispatch.ts';
import type { Operation, UserServices } from '../../operations/operation.ts';
import { touchedRuns } from '../../operations/runs/run-card.ts';
import { createRunFiles } from '../../process/output/run-files.ts';
import { asSquadError } from '../../schema/error.ts';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { ClientMessage, type LiveMessage } from '../../schema/live.ts';
import type { Run } from '../../schema/run.ts';
import type { RunCard } from '../../schema/run-card.ts';
import { openStore } from '../../store/open.ts';
import type { LiveTimes } from '../live-socket.ts';
import { serveWeb, type WebServer } from '../serve-web.ts';

export const TOKEN = 'the-token-of-the-user';

export interface WebFixtureOptions {
  operations?: Operation[];
  times?: Partial<LiveTimes>;
  files?: Record<string, string>;
  maxBodyBytes?: number;
  /** Overrides the check whether a connection is the user's own. */
  isOwnPeer?: boolean;
}

interface AskOptions {
  host?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The web server behind the real guard, on a real port, with a real store. */
export class WebFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'squad-web-'));
  readonly live = new Map<RunId, Run>();
  readonly errors: unknown[] = [];
  /** Number of open requests. */
  open = 0;
  now = 1_000_000;
  isOwnPeer: boolean | null = null;
  /** Callers by token. The user's token is always known. */
  readonly callers = new Map<string, Caller>();
  store!: Awaited<ReturnType<typeof openStore>>;
  files = createRunFiles<RunId>({ runsDir: join(this.folder, 'runs'), chatsDir: join(this.folder, 'chats') });
  readonly sessions = new Sessions();
  private server!: HttpServer;
  private webServer!: WebServer;
  private readonly sockets: WebSocket[] = [];

  static async start(options: WebFixtureOptions = {}): Promise<WebFixture> {
    const fixture = new WebFixture();
    fixture.isOwnPeer = options.isOwnPeer ?? null;
    await fixture.serve(options);
    return fixture;
  }

  get port(): number {
    return this.server.port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** `Host` of the web UI. */
  get webHost(): string {
    return this.server.hosts.web;
  }

  /** Creates a key for one browser, for the web UI or another host. */
  key(host = this.webHost): string {
    return this.webServer.key(host);
  }

  /** Requests with the host name of the web UI; fetch does not allow setting Host. */
  ask(
    path: string,
    { host = this.webHost, method = 'GET', headers = {}, body = '' }: AskOptions = {},
  ): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
    return new Promise((settle, reject) => {
      const options = { host: '127.0.0.1', port: this.port, path, method, headers: { host, ...headers } };
      const sent = request(options, response => {
        let text = '';
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        response.on('end', () => settle({ status: response.statusCode!, headers: response.headers, text }));
      });
      sent.on('error', reject).end(body);
    });
  }

  openAtAddress(): string {
    return this.server.hosts.openAtAddress();
  }

  event(body: EventBody, runId: RunId | null = null): Promise<void> {
    return this.store.commit({ events: [{ at: this.now, runId, squadId: null, body }] });
  }

  fetch(path: string, init: RequestInit & { token?: string | null } = {}): Promise<Response> {
    const { token = TOKEN, headers, ...rest } = init;
    return fetch(`${this.origin}${path}`, {
      ...rest,
      redirect: 'manual',
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers },
    });
  }

  post(path: string, body: unknown, init: RequestInit & { token?: string | null } = {}): Promise<Response> {
    const headers = { 'content-type': 'application/json', ...init.headers };
    return this.fetch(path, { method: 'POST', ...init, headers, body: JSON.stringify(body) });
  }

  async ticket(body: object = { purpose: 'live' }): Promise<string> {
    return ((await (await this.post('/api/ticket', body)).json()) as { ticket: string }).ticket;
  }

  /** An open web UI and every message it receives. */
  async openClient(after?: number): Promise<OpenClient> {
    const query = after === undefined ? '' : `&after=${after}`;
    const socket = new WebSocket(
      `ws://127.0.0.1:${this.port}/api/live?ticket=${await this.ticket()}${query}`,
    );
    this.sockets.push(socket);
    return new OpenClient(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    await this.close();
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private async serve({ operations = [], times, files = {}, maxBodyBytes = 1024 }: WebFixtureOptions) {
    this.store = await openStore({ database: join(this.folder, 'squad.db'), version: '1' });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(join(this.folder, 'web', name, '..'), { recursive: true });
      writeFileSync(join(this.folder, 'web', name), content);
    }
    const services = {
      clock: { now: () => this.now, monotonic: () => this.now },
      store: this.store,
      files: this.files,
      traces: { savedOf: () => 0 },
      runner: { current: (id: RunId) => this.live.get(id) ?? null, liveRuns: () => [...this.live.values()] },
      hub: {
        status: () => ({ startedAt: 5 }),
        reportBug: (_: string, bug: unknown) => this.errors.push(bug),
      },
    } as unknown as UserServices;
    const user: Caller = { client: null, cwd: null, workspace: null, env: {}, parent: null };
    const asking = new WeakMap<IncomingMessage, Caller>();
    const sessionOf = new WeakMap<IncomingMessage, string>();
    this.webServer = serveWeb(
      {
        ...{ services, operations, dispatch, maxBodyBytes },
        version: '1.2.3',
        sessions: {
          open: host => this.sessions.open(host),
          proof: (...asked) => this.sessions.proof(...asked),
          hold: id => this.sessions.hold(id),
          of: request => sessionOf.get(request) ?? null,
        },
        webFolder: join(this.folder, 'web'),
        errorOf: thrown => asSquadError(thrown).toShape(),
        schemaOf: (type, io) => z.toJSONSchema(type, { io }) as Record<string, unknown>,
        parseMessage: value => ClientMessage.safeParse(value).data ?? null,
        savedRun: async data => ({ name: 'saved.html', page: JSON.stringify(data) }),
        touchedRuns: events => touchedRuns(services, events),
        cardsOf: async runs => runs.map(({ id, status }) => ({ id, status }) as RunCard),
        isOwnPeer: async socket => this.isOwnPeer ?? isOwnPeer(socket),
        callerOf: async request => asking.get(request)!,
        onInFlight: () => {},
        log: (_level, message, cause) => this.errors.push(cause ?? message),
      },
      { flushMs: 5, beatMs: 60_000, silentMs: 120_000, lookMs: 10, ...times },
    );
    this.server = await serveHttp({
      port: 0,
      admits: (token, request) => {
        const session = this.sessions.admit(token, request.headers.host!);
        if (session !== null) sessionOf.set(request, session);
        const caller = token === TOKEN || session !== null ? user : this.callers.get(token);
        if (caller) asking.set(request, caller);
        return caller !== undefined;
      },
      mcp: { handle: async () => {}, close: async () => {} },
      web: this.webServer,
      onOpen: count => {
        this.open = count;
      },
      onError: error => this.errors.push(error),
    });
  }
}

export class OpenClient {
  readonly socket: WebSocket;
  readonly received: LiveMessage[] = [];
  readonly closed: Promise<{ code: number; why: string }>;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', data => this.received.push(JSON.parse(String(data)) as LiveMessage));
    socket.on('error', () => {});
    this.closed = new Promise(settle =>
      socket.once('close', (code, why) => settle({ code, why: String(why) })),
    );
  }

  ofType<T extends LiveMessage['type']>(type: T): Extract<LiveMessage, { type: T }>[] {
    return this.received.filter(
      (message): message is Extract<LiveMessage, { type: T }> => message.type === type,
    );
  }

  /** Resolves with the nth message of this type. */
  async receives<T extends LiveMessage['type']>(
    type: T,
    count = 1,
  ): Promise<Extract<LiveMessage, { type: T }>> {
    for (const end = Date.now() + 60_000; this.ofType(type).length < count; ) {
      if (Date.now() > end)
        throw new Error(`No ${type} came: ${JSON.stringify(this.received).slice(0, 2_000)}`);
      await new Promise(wake => setTimeout(wake, 5));
    }
    return this.ofType(type)[count - 1]!;
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }
}
