import { chmodSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Hello, HelloReply, View } from '../link/hello.ts';
import { isNewer } from '../link/hello.ts';
import { ownFolder } from '../link/home.ts';
import { readHello } from './read-hello.ts';

/** A greeted connection: the hello, and a socket positioned right after it. */
export interface Connection {
  hello: Hello;
  socket: Socket;
}

export interface HubServerOptions {
  socketPath: string;
  version: string;
  /** Serves one connection; settles when it is over. */
  views: Record<View, (connection: Connection) => Promise<void>>;
  onClients(count: number): void;
  /** A client of a later version came: this hub should make way when it can. */
  onNewer(hello: Hello): void;
  warn(message: string, cause: unknown): void;
}

/** The hub's front door: one socket, one hello line, then the view that was asked for. */
export class HubServer {
  private readonly options: HubServerOptions;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(options: HubServerOptions) {
    this.options = options;
    this.server = createServer({ allowHalfOpen: true }, socket => void this.greet(socket));
  }

  get clients(): number {
    return this.sockets.size;
  }

  /** The caller holds the lock, so whatever is at the path is a dead hub's. */
  async listen(): Promise<void> {
    const { socketPath } = this.options;
    ownFolder(dirname(socketPath));
    try {
      unlinkSync(socketPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(socketPath, () => resolve());
    });
    chmodSync(socketPath, 0o600);
  }

  /** No new connections; those there are are closed, and their clients start or find the next hub. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.end(() => socket.destroy());
    await closed;
  }

  private async greet(socket: Socket): Promise<void> {
    const { version, views, onNewer, warn } = this.options;
    this.sockets.add(socket);
    this.options.onClients(this.sockets.size);
    socket.once('close', () => {
      this.sockets.delete(socket);
      this.options.onClients(this.sockets.size);
    });
    socket.on('error', () => {}); // 'close' follows: a client that breaks off is a client that left
    try {
      const hello = await readHello(socket);
      if (hello === null) return void socket.destroy();
      if ('refusal' in hello) return void socket.end(line({ squad: 1, ok: false, error: hello.refusal }));
      socket.write(line({ squad: 1, ok: true, version, pid: process.pid }));
      if (isNewer(hello.version, version)) onNewer(hello);
      await views[hello.view]({ hello, socket });
    } catch (thrown) {
      warn('A connection failed', thrown);
    } finally {
      socket.end(() => socket.destroy());
    }
  }
}

const line = (reply: HelloReply): string => `${JSON.stringify(reply)}\n`;
