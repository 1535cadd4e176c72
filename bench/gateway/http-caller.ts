import { createConnection, type Socket } from 'node:net';
import type { Caller } from './load.ts';

const REVISION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const HEAD_END = '\r\n\r\n';

/** A request of the current revision, which needs no handshake, with its headers. */
export function modernRequest(id: number, token: string, method: string, params: Record<string, unknown>) {
  return {
    message: { jsonrpc: '2.0', id, method, params: { ...params, _meta: ENVELOPE } },
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    },
  };
}

/**
 * HTTP client with little overhead: Node's own client takes longer for a request than the hub. Keeps connections open.
 * Understands only answers in one piece.
 */
export class HttpCaller implements Caller {
  private readonly idle: Socket[] = [];
  private readonly open = new Set<Socket>();
  private readonly url: URL;
  private readonly token: string;
  private lastId = 0;

  constructor(url: string, token: string) {
    this.url = new URL(url);
    this.token = token;
  }

  async request(method: string, params: Record<string, unknown>): Promise<unknown> {
    const { message, headers } = modernRequest(++this.lastId, this.token, method, params);
    const body = JSON.stringify(message);
    const all = { host: this.url.host, ...headers, 'content-length': Buffer.byteLength(body) };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const text = await this.ask(`POST ${this.url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    const answer = JSON.parse(text) as { result?: unknown };
    if (answer.result === undefined) throw new Error(`${method}: ${text}`);
    return answer.result;
  }

  close(): void {
    for (const socket of this.open) socket.destroy();
  }

  private ask(request: string): Promise<string> {
    const socket = this.idle.pop() ?? this.connect();
    return new Promise((resolve, reject) => {
      let text = '';
      const over = (settle: () => void) => {
        socket.removeAllListeners();
        settle();
      };
      socket.on('data', (chunk: string) => {
        text += chunk;
        const end = text.indexOf(HEAD_END);
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
        if (Number.isNaN(length)) return over(() => reject(new Error(`Not in one piece: ${text}`)));
        if (text.length < end + HEAD_END.length + length) return;
        over(() => resolve(text.slice(end + HEAD_END.length)));
        this.idle.push(socket);
      });
      socket.on('error', error => over(() => reject(error)));
      socket.on('close', () => over(() => reject(new Error('The connection was closed'))));
      socket.write(request);
    });
  }

  /** Reads as latin1, one character per byte, because lengths are counted in bytes. */
  private connect(): Socket {
    const socket = createConnection(Number(this.url.port), this.url.hostname)
      .setNoDelay()
      .setEncoding('latin1');
    this.open.add(socket);
    return socket;
  }
}
