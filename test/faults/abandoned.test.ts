import { readdirSync, readFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { socketPath } from '../../src/link/home.ts';
import type { FaultHome } from './fault-home.ts';
import { amountOf, figure, figureTimeout } from './figures.ts';
import type { HubLink } from './hub-link.ts';
import { until, within } from './patience.ts';
import { newHome } from './scenario.ts';

const WHOLE = 10_000;
const AMOUNT = amountOf(WHOLE);
const AT_ONCE = 40;
const MAX_SECONDS = 60;
const WAIT_TIMEOUT_MS = 180_000;

test(`${AMOUNT} connections that are opened and abandoned leave neither a descriptor nor a session`, {
  tags: ['R21', 'streams-and-sessions-that-are-never-closed'],
  timeout: figureTimeout(400_000),
}, async () => {
  const home = newHome();
  const link = await home.hub();
  const play = await AbandonPlay.open(home, link);
  await play.visit();
  const baseline = play.descriptors();
  let abandoned = 0;
  for (let done = 0; done < AMOUNT; done += AT_ONCE) {
    const size = Math.min(AT_ONCE, AMOUNT - done);
    const kinds = Array.from({ length: size }, (_, at) => kindOf(done + at));
    abandoned += (await Promise.all(kinds.map(kind => play.abandon(kind)))).length;
  }
  expect(abandoned).toBe(AMOUNT);
  const peak = { descriptors: play.descriptors() - baseline, sessions: await play.sessions() };
  const seconds = await play.settle(baseline);
  await play.visit();
  link.close();
  const told = `${KINDS.length + 1} kinds of abandoned connections, of which ${peak.descriptors} and ${peak.sessions} sessions were open at the end; no descriptor more than before and no session ${seconds.toFixed(0)} s later`;
  figure('R21', { reached: abandoned, of: WHOLE, told, isMet: seconds <= MAX_SECONDS });
});

/** How a client leaves a connection. The silent ones keep it open for as long as the hub does. */
const KINDS = [
  'says nothing',
  'half a request',
  'a session, then silence',
  'a listening stream, then gone',
  'a modern stream, then gone',
  'says nothing on the socket',
  'a handshake on the socket, then gone',
] as const;
type Kind = (typeof KINDS)[number] | typeof HALF_A_BODY;
/** Fewer than the others: the hub refuses every body of a token while 64 of it are under way, and gives each 15 s. */
const HALF_A_BODY = 'half a body';
const kindOf = (at: number): Kind => (at % AT_ONCE === 0 ? HALF_A_BODY : KINDS[at % KINDS.length]!);

const REVISION = '2026-07-28';
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'leaver', version: '1' } },
};
const LISTEN = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'leaver', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};
const MODERN = { 'mcp-protocol-version': REVISION, 'mcp-method': LISTEN.method };

class AbandonPlay {
  private readonly home: FaultHome;
  private readonly link: HubLink;
  private readonly url: URL;
  private readonly token: string;

  private constructor(home: FaultHome, link: HubLink, url: string, token: string) {
    this.home = home;
    this.link = link;
    this.url = new URL(url);
    this.token = token;
  }

  static async open(home: FaultHome, link: HubLink): Promise<AbandonPlay> {
    const { url, tokenFile } = await until('the port', async () => {
      const status = await link.call<{ url: string | null; tokenFile: string }>('hub_status');
      return status.url === null ? null : { url: status.url, tokenFile: status.tokenFile };
    });
    return new AbandonPlay(home, link, url, readFileSync(tokenFile, 'utf8').trim());
  }

  descriptors = (): number => readdirSync(`/proc/${this.link.pid}/fd`).length;

  sessions = async (): Promise<number> => (await this.link.call<{ sessions: number }>('hub_status')).sessions;

  /** Waits until there is no session, and no more descriptors than these; returns the seconds. */
  async settle(descriptors: number): Promise<number> {
    const since = performance.now();
    await until(
      `no sessions, and at most ${descriptors} descriptors`,
      async () => this.descriptors() <= descriptors && (await this.sessions()) === 0,
      WAIT_TIMEOUT_MS,
    );
    return (performance.now() - since) / 1_000;
  }

  /** A client that says goodbye. */
  async visit(): Promise<void> {
    const headers = this.headers({ connection: 'close' });
    const answer = await fetch(this.url, { method: 'POST', body: JSON.stringify(INITIALIZE), headers });
    expect(answer.status).toBe(200);
    await answer.text();
    const id = answer.headers.get('mcp-session-id')!;
    await fetch(this.url, { method: 'DELETE', headers: { ...headers, 'mcp-session-id': id } });
    expect(await this.sessions()).toBe(0);
  }

  async abandon(kind: Kind): Promise<void> {
    switch (kind) {
      case 'says nothing':
        return void (await this.connect());
      case 'half a request':
        return void (await this.connect()).write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1');
      case HALF_A_BODY:
        return void (await this.connect()).write(
          `${this.head('POST', { 'content-length': '1000' })}{"jsonrpc`,
        );
      case 'a session, then silence':
        return void (await this.session());
      case 'a listening stream, then gone': {
        const { socket, id } = await this.session();
        const stream = await this.connect();
        stream.write(this.head('GET', { 'mcp-session-id': id }));
        await heard(stream, ': open');
        stream.resetAndDestroy();
        return void socket.resetAndDestroy();
      }
      case 'a modern stream, then gone': {
        const stream = await this.connect();
        stream.write(this.request(LISTEN, MODERN));
        await heard(stream, 'text/event-stream');
        return void stream.resetAndDestroy();
      }
      case 'says nothing on the socket':
        return void (await opened(createConnection(socketPath(this.home.home))));
      case 'a handshake on the socket, then gone':
        return (await until('a handshake', () => this.home.findHub())).close();
    }
  }

  /** A session with the connection that opened it. All that the user may have can be in use at the moment. */
  private session(): Promise<{ socket: Socket; id: string }> {
    return until('a session', async () => {
      const socket = await this.connect();
      socket.write(this.request(INITIALIZE));
      const head = await heard(socket, '\r\n\r\n');
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(head)!;
      const [, id] = /mcp-session-id: (\S+)/i.exec(head) ?? [];
      if (status === '429' || status === '503') return void socket.destroy();
      expect([status, id]).toEqual(['200', expect.any(String)]);
      return { socket, id: id! };
    });
  }

  private connect = (): Promise<Socket> => opened(createConnection(Number(this.url.port), this.url.hostname));

  private request(body: object, headers: Record<string, string> = {}): string {
    const text = JSON.stringify(body);
    return this.head('POST', { ...headers, 'content-length': String(text.length) }) + text;
  }

  private head(method: string, headers: Record<string, string>): string {
    const lines = Object.entries({ host: this.url.host, ...this.headers(headers) });
    return `${method} /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  }

  private headers = (more: Record<string, string>): Record<string, string> => ({
    authorization: `Bearer ${this.token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  });
}

const HEARD_MS = 60_000;

function opened(socket: Socket): Promise<Socket> {
  const open = new Promise<Socket>((resolve, reject) => {
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
  socket.on('error', () => {}); // the hub ends what is abandoned
  socket.resume();
  return within(HEARD_MS, 'a connection', open);
}

/** Everything that the hub has said, once these words are in it. */
function heard(socket: Socket, words: string): Promise<string> {
  let text = '';
  const said = new Promise<string>((resolve, reject) => {
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk;
      if (text.includes(words)) resolve(text);
    });
    socket.once('close', () => reject(new Error(`Closed after: ${text}`)));
  });
  return within(HEARD_MS, `"${words}"`, said);
}
