import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSocketHolders } from '../table/socket-holder.ts';
import {
  type ControlReply,
  type ControlRequest,
  type Room,
  type RoomTerm,
  readMessages,
} from './room-protocol.ts';

export interface RoomsOptions {
  /** Path of the proxy process's socket. Only the user may have access to the socket's folder. */
  socket: string;
  /** Path of the bundled proxy program. */
  program: string;
  /** Returns the hub's port, or null if the hub has no port. */
  hubPort(): Promise<number | null>;
  warn(message: string): void;
}

export interface RoomRequest {
  runId: string;
  folder: string;
  hosts: string[];
  lasts: RoomTerm;
}

export interface Rooms {
  /** Resolves when a room can be opened. Rejects with the reason if rooms are not available. */
  ready(bubblewrap: string): Promise<void>;
  open(request: RoomRequest, bubblewrap: string): Promise<Room>;
  /** Connects to the proxy process of an earlier hub, if there is one. */
  attach(): Promise<void>;
  /**
   * Returns the run that made a connection to the hub. The process `pid` holds the other end of the connection, at the
   * local port `port`. Undefined if `pid` is not the proxy process. Null if the proxy process does not know the run.
   */
  runBehind(pid: number, port: number): Promise<string | null | undefined>;
  close(): void;
}

type Asked = ControlRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

interface Link {
  pid: number | null;
  ask(request: Asked): Promise<unknown>;
  /** Resolves when the proxy process has a room ready for this hub's port. */
  ready(): Promise<unknown>;
  close(): void;
}

class ProxyEnded extends Error {}
const ENDED = 'the proxy process of sandboxes ended';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

/** Connects the hub to the proxy process, and starts the proxy process when the first room is needed. */
export function createRooms({ socket: file, program, hubPort, warn }: RoomsOptions): Rooms {
  let link: Promise<Link> | null = null;
  let isClosed = false;

  async function linked(open: () => Promise<Socket>): Promise<Link> {
    const now: Promise<Link> = link ?? open().then(socket => made(socket, () => forget(now)));
    link = now;
    return now.catch(thrown => {
      forget(now);
      throw thrown;
    });
  }

  /** Keeps a later link that is already in its place. */
  function forget(ended: Promise<Link>): void {
    if (link === ended) link = null;
  }

  function made(socket: Socket, onEnd: () => void): Link {
    const waiting = new Map<number, PromiseWithResolvers<unknown>>();
    let asked = 0;
    socket.unref();
    socket.on('error', () => {});
    socket.once('close', () => {
      onEnd();
      for (const { reject } of waiting.values()) reject(new ProxyEnded(ENDED));
      if (!isClosed)
        warn('The proxy process of sandboxes ended: turns with a limited network are cut off from it');
    });
    readMessages<ControlReply>(socket, reply => {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ('error' in reply) call?.reject(new Error(reply.error));
      else call?.resolve(reply.result);
    });
    const ask = async (request: Asked): Promise<unknown> => {
      if (socket.destroyed) {
        // The `close` event comes later. Without this call, the next request would get this broken link again.
        onEnd();
        throw new ProxyEnded(ENDED);
      }
      const id = ++asked;
      const call = Promise.withResolvers<unknown>();
      waiting.set(id, call);
      socket.write(`${JSON.stringify({ ...request, id })}\n`);
      return call.promise;
    };
    const ready = async () => ask({ do: 'hub', port: await hubPort() });
    // The hub reports its port at once, so that agents that an earlier hub started can reach this hub.
    ready().catch(() => {});
    return { pid: listenerOf(file), ask, ready, close: () => socket.destroy() };
  }

  const start = async (bubblewrap: string): Promise<Socket> => {
    const running = await tryConnect(file);
    if (running) return running;
    const child = spawn(process.execPath, ['--max-semi-space-size=1', program, file, bubblewrap], {
      ...{ cwd: '/', detached: true, stdio: 'ignore' },
      // The proxy process gets no variable of the user's environment, such as proxy settings or NODE_OPTIONS.
      env: { MALLOC_ARENA_MAX: '2', UV_THREADPOOL_SIZE: '2' },
    });
    child.on('error', () => {});
    child.unref();
    for (
      const until = performance.now() + START_TIMEOUT_MS;
      performance.now() < until;
      await delay(POLL_MS)
    ) {
      const socket = await tryConnect(file);
      if (socket) return socket;
      if (child.exitCode !== null || child.signalCode !== null) break;
    }
    throw new Error(`the proxy process of sandboxes did not start (${program})`);
  };

  /**
   * Uses the connection to the proxy process. Starts a new proxy process and tries once more if the first one ends
   * meanwhile.
   */
  async function withProxy<T>(bubblewrap: string, use: (link: Link) => Promise<T>): Promise<T> {
    const attempt = async () => use(await linked(() => start(bubblewrap)));
    return attempt().catch(thrown => {
      if (!(thrown instanceof ProxyEnded)) throw thrown;
      return attempt();
    });
  }

  return {
    async ready(bubblewrap) {
      await withProxy(bubblewrap, ({ ready }) => ready());
    },
    open: (request, bubblewrap) =>
      withProxy(bubblewrap, async ({ ask, ready }) => {
        // The proxy process must know the port of this hub before it opens a room.
        await ready();
        return (await ask({ do: 'open', ...request })) as Room;
      }),
    async attach() {
      const running = await tryConnect(file);
      if (running && link === null && !isClosed) await linked(async () => running);
      else running?.destroy();
    },
    async runBehind(pid, port) {
      const proxy = await (link ?? this.attach().then(() => link))?.catch(() => null);
      if (!proxy || proxy.pid !== pid) return undefined;
      return ((await proxy.ask({ do: 'whose', port }).catch(() => null)) as string | null) ?? null;
    },
    close() {
      isClosed = true;
      void link?.then(({ close }) => close()).catch(() => {});
    },
  };
}

async function tryConnect(file: string): Promise<Socket | null> {
  // A failed connect costs more than this check. Usually there is no proxy process, and the hub checks for one at every
  // HTTP connection.
  if (!existsSync(file)) return null;
  return new Promise(resolve => {
    const socket = connect(file);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}

const LISTENING = '00010000';

/**
 * Returns the pid of the process that listens on a Unix socket. The pid comes from the kernel's tables, because a
 * process could lie about itself.
 */
function listenerOf(file: string): number | null {
  const table = readFileSync('/proc/net/unix', 'utf8');
  for (const line of table.split('\n')) {
    const [, , , flags, , , inode] = line.split(/\s+/, 7);
    if (flags === LISTENING && inode && line.endsWith(` ${file}`))
      return createSocketHolders().holderOf(inode);
  }
  return null;
}
