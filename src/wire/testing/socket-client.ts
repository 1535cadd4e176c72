import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  Client,
  type ClientCapabilities,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Era } from '../face/face.ts';
import { type StreamConnection, type StreamOptions, serveStream } from '../stream/serve-stream.ts';
import { until } from './until.ts';

type ServeOptions = Omit<StreamOptions, 'input' | 'output'>;

export interface SocketRig {
  connections: StreamConnection[];
  /** Connects a real SDK client of that protocol version. */
  client(era: Era, capabilities?: ClientCapabilities): Promise<Client>;
  /** Opens a plain socket and collects every line of the server, parsed and as text. */
  raw(): Promise<{ socket: Socket; lines: WireLine[]; texts: string[] }>;
  close(): Promise<void>;
}

/** A line as the server wrote it. */
export interface WireLine {
  id?: string | number | null;
  method?: string;
  result?: { structuredContent?: Record<string, unknown>; protocolVersion?: string };
  error?: { code: number; message: string; data?: { code?: string } };
}

/** A real TCP connection. `serveStream` serves one end, and the test uses the other. */
export async function socketRig(options: ServeOptions): Promise<SocketRig> {
  const connections: StreamConnection[] = [];
  const sockets: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    connections.push(serveStream({ input: socket, output: socket, ...options }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };

  const open = async () => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    const before = connections.length;
    await once(socket, 'connect');
    await until(() => connections.length > before, 'the server takes the connection');
    return socket;
  };

  return {
    connections,
    client: async (era, capabilities = {}) => {
      const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
      const client = new Client(
        { name: 'wire-test', version: '9.9' },
        { versionNegotiation: { mode }, capabilities },
      );
      await client.connect(new SocketClientTransport(await open()));
      return client;
    },
    raw: async () => {
      const socket = await open();
      const lines: WireLine[] = [];
      const texts: string[] = [];
      createInterface({ input: socket }).on('line', line => {
        texts.push(line);
        lines.push(JSON.parse(line));
      });
      return { socket, lines, texts };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(connections.map(connection => connection.close()));
      server.close();
      await once(server, 'close');
    },
  };
}

class SocketClientTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    createInterface({ input: this.#socket }).on('line', line => {
      // The SDK drops a progress notice that arrives in the same turn as its result.
      setImmediate(() => this.onmessage?.(JSON.parse(line)));
    });
    this.#socket.on('close', () => this.onclose?.());
    this.#socket.on('error', error => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }
}
