import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSocketHolders } from '../table/socket-holder.ts';
import { type ControlReply, type ControlRequest, type Room, readMessages } from './room-protocol.ts';

export interface RoomsOptions {
  /** Of the proxy process. In a folder of the user's own. */
  socket: string;
  /** The bundled proxy program. */
  program: string;
  /** The hub's port; null when it has none. */
  hubPort(): Promise<number | null>;
  warn(message: string): void;
}

export interface RoomRequest {
  runId: string;
  folder: string;
  hosts: string[];
}

export interface Rooms {
  /** Settles when a room can be opened. Rejects with the reason if none can. */
  ready(bubblewrap: string): Promise<void>;
  open(request: RoomRequest, bubblewrap: string): Promise<Room>;
  /** Connects to the proxy process of an earlier hub, if there is one. */
  attach(): Promise<void>;
  /**
   * The run in whose room a connection to the hub began, when the proxy process `pid` holds its other end at `port`. Undefined:
   * this is not the proxy process. Null: of no run that is known.
   */
  runBehind(pid: number, port: number): Promise<string | null | undefined>;
  close(): void;
}

type Asked = ControlRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

interface Link {
  pid: number | null;
  ask(request: Asked): Promise<unknown>;
  /** Settles when the proxy process has a room ready for this hub's port. */
  ready(): Promise<unknown>;
  close(): void;
}

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

/** The hub's side of the proxy process. It is started when the first room is needed. */
export function createRooms({ socket: file, program, hubPort, warn }: RoomsOptions): Rooms {
  let link: Promise<Link> | null = null;
  let isClosed = false;

  async function linked(open: () => Promise<Socket>): Promise<Link> {
    link ??= open().then(made);
    const now = link;
    return now.catch(thrown => {
      if (link === now) link = null;
      throw thrown;
    });
  }

  function made(socket: Socket): Link {
    const waiting = new Map<number, PromiseWithResolvers<unknown>>();
    let asked = 0;
    socket.unref();
    socket.on('error', () => {});
    socket.once('close', () => {
      link = null;
      for (const { reject } of waiting.values()) reject(new Error('the proxy process of sandboxes ended'));
      if (!isClosed)
        warn('The proxy process of sandboxes ended: turns with a limited network are cut off from it');
    });
    readMessages<ControlReply>(socket, reply => {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ('error' in reply) call?.reject(new Error(reply.error));
      else call?.resolve(reply.result);
    });
    const ask = (request: Asked): Promise<unknown> => {
      const id = ++asked;
      const call = Promise.withResolvers<unknown>();
      waiting.set(id, call);
      socket.write(`${JSON.stringify({ ...request, id })}\n`);
      return call.promise;
    };
    const ready = async () => ask({ do: 'hub', port: await hubPort() });
    // At once, so that agents of an earlier hub reach this one.
    ready().catch(() => {});
    return { pid: listenerOf(file), ask, ready, close: () => socket.destroy() };
  }

  const start = async (bubblewrap: string): Promise<Socket> => {
    const running = await tryConnect(file);
    if (running) return running;
    const child = spawn(process.execPath, ['--max-semi-space-size=1', program, file, bubblewrap], {
      ...{ cwd: '/', detached: true, stdio: 'ignore' },
      // Nothing of a user's environment: proxies, hooks of Node and marks of runs have no place here.
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

  return {
    async ready(bubblewrap) {
      const { ready } = await linked(() => start(bubblewrap));
      await ready();
    },
    async open(request, bubblewrap) {
      const { ask, ready } = await linked(() => start(bubblewrap));
      // Rooms are made for the port of this hub.
      await ready();
      return (await ask({ do: 'open', ...request })) as Room;
    },
    async attach() {
      const running = await tryConnect(file);
      if (running) await linked(async () => running);
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
  // Cheaper than a connection that fails: usually there is no proxy process, and every HTTP connection to the hub asks for it.
  if (!existsSync(file)) return null;
  return new Promise(resolve => {
    const socket = connect(file);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}

const LISTENING = '00010000';

/** The process that listens on a unix socket, by the kernel's tables: what a process says about itself proves nothing. */
function listenerOf(file: string): number | null {
  const table = readFileSync('/proc/net/unix', 'utf8');
  for (const line of table.split('\n')) {
    const [, , , flags, , , inode] = line.split(/\s+/, 7);
    if (flags === LISTENING && inode && line.endsWith(` ${file}`))
      return createSocketHolders().holderOf(inode);
  }
  return null;
}
