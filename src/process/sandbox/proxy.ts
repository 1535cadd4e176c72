/**
 * The proxy process, which carries the network connections of sandboxed turns. The proxy process outlives the hub, so
 * agents keep their connections to models when the hub restarts. All turns of a home share one proxy process, because a
 * Node process costs as much as an agent's shell.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { appendFileSync, closeSync, openSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, type LookupFunction, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { ownProcesses } from '../table/socket-holder.ts';
import { hasExitRecord, readWrapperPid } from '../turns/turn-record.ts';
import { forgetRoom, MAX_REFUSED_HOSTS, REFUSED_HOSTS } from './network-record.ts';
import { addressesOf, type Refusal } from './proxy-rules.ts';
import {
  type ControlReply,
  type ControlRequest,
  type Room,
  type RoomTerm,
  readMessages,
} from './room-protocol.ts';

/**
 * Time without a hub and without rooms after which the proxy process exits. A killed hub that is still needed restarts
 * sooner.
 */
const LINGER_MS = 2_000;
const POLL_MS = 1_000;
/** Maximum time from the opening of a room until the wrapper writes its `pid` file. */
const TURN_START_MS = 60_000;
/**
 * Maximum time until the `pid` file appears, for a room whose hub has died. Only a wrapper that already runs can still
 * write the file.
 */
const ORPHAN_START_MS = 10_000;
const ROOM_TIMEOUT_MS = 20_000;
/** Maximum number of connections of one room, so that one turn cannot use up all file descriptors. */
const MAX_CONNECTIONS = 256;

interface Tenant {
  runId: string;
  folder: string;
  lasts: RoomTerm;
  hosts: string[];
  /** Control connection of the hub that opened the room. */
  hub: Socket;
  /** Time (`performance.now`) at which the room is closed if no process has entered it by then. */
  startBy: number;
  /** Process of the wrapper. The start time distinguishes it from a later process with the same pid. */
  wrapper: { pid: number; startTime: string | null } | null;
  refused: Set<string>;
}

interface OpenRoom extends Room {
  fds: number[];
  servers: Server[];
  sockets: Set<Socket>;
  tenant: Tenant | null;
  wasEntered: boolean;
}

/** Runs the proxy process. It exits when no hub is connected and no room is open. */
export function runProxy(socketFile: string, bubblewrap: string): void {
  const rooms = new Set<OpenRoom>();
  const hubs = new Set<Socket>();
  const runOfPort = new Map<number, string>();
  const roomOf = new WeakMap<Duplex, OpenRoom>();
  let hubPort: number | null = null;
  let spare: { port: number | null; room: Promise<OpenRoom> } | null = null;
  let idleSince: number | null = performance.now();

  const http = createHttpServer(
    { requestTimeout: 0 },
    (request, response) => void forward(request, response),
  );
  http.on('connect', (request, socket, head) => void tunnel(request, socket, head));
  http.on('upgrade', (_request, socket) => socket.destroy());
  http.on('clientError', (_error, socket) => socket.destroy());

  function spareRoom(): Promise<OpenRoom> {
    if (spare?.port !== hubPort) {
      void spare?.room.then(
        room => room.tenant === null && closeRoom(room),
        () => {},
      );
      const made = { port: hubPort, room: makeRoom(bubblewrap, hubPort) };
      spare = made;
      made.room.catch(() => {
        // A failed room is dropped. The next request makes a new one.
        if (spare === made) spare = null;
      });
    }
    return spare!.room;
  }

  async function openRoom(asked: Extract<ControlRequest, { do: 'open' }>, hub: Socket): Promise<Room> {
    const room = await spareRoom();
    // Several requests may have waited for the same room, and the first one got it.
    if (room.tenant !== null) return openRoom(asked, hub);
    if (hub.destroyed) throw new Error('the hub has disconnected');
    const { runId, folder, hosts, lasts } = asked;
    const startBy = performance.now() + TURN_START_MS;
    room.tenant = { runId, folder, hosts, lasts, hub, startBy, wrapper: null, refused: new Set() };
    spare = null;
    rooms.add(room);
    admit(room, room.servers[0]!, toHub);
    admit(room, room.servers[1]!, socket => http.emit('connection', socket));
    void spareRoom().catch(() => {});
    const { user, net, hubPort: port, proxyPort } = room;
    return { user, net, hubPort: port, proxyPort };
  }

  function admit(room: OpenRoom, server: Server, serve: (socket: Socket) => void): void {
    // An accept can fail, for example when no file descriptor is free. The server accepts connections again later.
    server.on('error', () => {});
    server.on('connection', socket => {
      if (room.sockets.size >= MAX_CONNECTIONS) {
        socket.destroy();
        return;
      }
      room.sockets.add(socket);
      roomOf.set(socket, room);
      socket.once('close', () => room.sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      serve(socket);
    });
  }

  function closeRoom(room: OpenRoom): void {
    rooms.delete(room);
    for (const server of room.servers) server.close();
    for (const socket of room.sockets) socket.destroy();
    for (const fd of room.fds) closeSync(fd);
  }

  /**
   * Connects an agent to the hub. An agent keeps the address that it got at its start, so connections always go to the
   * port of the current hub.
   */
  function toHub(socket: Socket): void {
    const { runId } = roomOf.get(socket)!.tenant!;
    if (hubPort === null) {
      socket.destroy();
      return;
    }
    const hub = connect({ host: '127.0.0.1', port: hubPort });
    hub.once('connect', () => {
      const { localPort } = hub;
      runOfPort.set(localPort!, runId);
      hub.once('close', () => runOfPort.delete(localPort!));
      copyBothWays(socket, hub);
    });
    hub.once('error', () => socket.destroy());
    socket.once('close', () => hub.destroy());
  }

  async function tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const target = /^(.+):(\d{1,5})$/.exec(request.url ?? '');
    if (!target) {
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
      return;
    }
    const found = await reach(roomOf.get(socket)!, target[1]!, Number(target[2]));
    // The client has disconnected. Its `close` event is already over and would not close a new connection to the host.
    if (socket.destroyed) return;
    if ('status' in found) {
      socket.end(
        `HTTP/1.1 ${found.status}\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${found.text}\n`,
      );
      return;
    }
    const upstream = connect({ host: target[1]!, port: Number(target[2]), lookup: found.lookup });
    let isOpen = false;
    upstream.once('connect', () => {
      isOpen = true;
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      copyBothWays(socket, upstream);
    });
    upstream.once('error', () => {
      if (isOpen) socket.destroy();
      else socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n');
    });
    socket.once('close', () => upstream.destroy());
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '');
    if (url?.protocol !== 'http:') {
      response.writeHead(400).end('This is a proxy: send an absolute http:// address, or CONNECT.\n');
      return;
    }
    const port = Number(url.port || 80);
    const found = await reach(roomOf.get(request.socket)!, url.hostname, port);
    if (response.closed || request.socket.destroyed) return;
    if ('status' in found) {
      response
        .writeHead(Number.parseInt(found.status, 10), { 'content-type': 'text/plain' })
        .end(`${found.text}\n`);
      return;
    }
    const {
      'proxy-connection': _connection,
      'proxy-authorization': _authorization,
      ...headers
    } = request.headers;
    const upstream = httpRequest(
      {
        ...{
          host: url.hostname,
          lookup: found.lookup,
          port,
          method: request.method,
          path: `${url.pathname}${url.search}`,
          agent: false,
        },
        // The Host header must name the host of the request line. Otherwise a server could pass the request on to a
        // host that is not allowed.
        headers: { ...headers, host: url.host },
      },
      answer => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.once('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.once('close', () => upstream.destroy());
    request.pipe(upstream);
  }

  /** Returns a lookup function for an allowed host, or the error response for a refused request. */
  async function reach(
    room: OpenRoom,
    host: string,
    port: number,
  ): Promise<{ lookup: LookupFunction } | { status: string; text: string }> {
    const found = await addressesOf(room.tenant!.hosts, host, port);
    if ('addresses' in found) {
      const { addresses } = found;
      const [{ address, family }] = addresses as [LookupAddress];
      return {
        // Node gets all addresses, so that it can try the next one when IPv6 does not work.
        lookup: (_host, { all }, done) => (all ? done(null, addresses) : done(null, address, family)),
      };
    }
    if ('unknown' in found)
      return { status: '502 Bad Gateway', text: `${host} was not found: ${found.unknown}` };
    note(room.tenant!, host, port, found.refused);
    return { status: '403 Forbidden', text: `The sandbox of this run does not allow ${host}:${port}` };
  }

  function note(tenant: Tenant, host: string, port: number, why: Refusal): void {
    const key = `${host.toLowerCase()}:${port}`;
    if (tenant.refused.has(key) || tenant.refused.size >= MAX_REFUSED_HOSTS) return;
    tenant.refused.add(key);
    try {
      const line = JSON.stringify({ at: Date.now(), host: host.slice(0, 253), port, why });
      appendFileSync(join(tenant.folder, REFUSED_HOSTS), `${line}\n`, { mode: 0o600 });
    } catch {
      // The record cannot be written because the run was removed or the disk is full. The host is refused anyway.
    }
  }

  async function answer(request: ControlRequest, hub: Socket): Promise<unknown> {
    if (request.do === 'open') return openRoom(request, hub);
    if (request.do === 'whose') return runOfPort.get(request.port) ?? null;
    hubPort = request.port;
    await spareRoom();
    return null;
  }

  function serveHub(socket: Socket): void {
    hubs.add(socket);
    idleSince = null;
    socket.on('error', () => {});
    socket.once('close', () => {
      hubs.delete(socket);
      for (const { tenant } of rooms)
        if (tenant!.hub === socket)
          tenant!.startBy = Math.min(tenant!.startBy, performance.now() + ORPHAN_START_MS);
    });
    readMessages<ControlRequest>(socket, async request => {
      const { id } = request;
      const reply: ControlReply = await answer(request, socket).then(
        result => ({ id, result }),
        (thrown: Error) => ({ id, error: thrown.message }),
      );
      socket.write(`${JSON.stringify(reply)}\n`);
    });
  }

  function review(): void {
    for (const room of rooms)
      if (room.tenant!.lasts === 'processes' ? isEmpty(room) : isOver(room.tenant!)) {
        // The record is removed before the room, because a missing room with a record means that the proxy process was
        // killed.
        if (room.tenant!.lasts === 'turn') forgetRoom(room.tenant!.folder);
        closeRoom(room);
      }
    if (hubs.size > 0 || rooms.size > 0) idleSince = null;
    else idleSince ??= performance.now();
    if (idleSince !== null && performance.now() - idleSince >= LINGER_MS) {
      leave();
      process.exit(0);
    }
  }

  // An unexpected error of one connection must not end the connections of all other turns.
  process.on('uncaughtException', () => {});
  const leave = listenAlone(socketFile, serveHub);
  setInterval(review, POLL_MS);
}

/**
 * True if the turn has ended. The room of an ended turn is closed, whether a hub is running or not. A folder that cannot
 * be read must not keep the room, and so this process, forever.
 */
function isOver(tenant: Tenant): boolean {
  try {
    if (hasExitRecord(tenant.folder)) return true;
    const pid = tenant.wrapper === null ? readWrapperPid(tenant.folder) : null;
    if (typeof pid === 'number') tenant.wrapper = { pid, startTime: startTimeOf(pid) };
  } catch {
    // Without a wrapper process the time decides, otherwise that process.
  }
  if (tenant.wrapper === null) return performance.now() > tenant.startBy;
  const { pid, startTime } = tenant.wrapper;
  return startTime === null || startTimeOf(pid) !== startTime;
}

/** True if all processes in the room have ended, or if no process ever entered it in time. */
function isEmpty(room: OpenRoom): boolean {
  const name = readlinkSync(room.net);
  const isInside = ownProcesses().some(pid => linkOf(`/proc/${pid}/ns/net`) === name);
  room.wasEntered ||= isInside;
  return !isInside && (room.wasEntered || performance.now() > room.tenant!.startBy);
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // the process has ended by now
  }
}

/**
 * Start time of a process. Null if the process has ended, even if its parent has not reaped it: the first process of
 * a container may never do so.
 */
function startTimeOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/** Copies data in both directions until one side ends. */
function copyBothWays(one: Duplex, other: Duplex): void {
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
  one.once('close', () => other.destroy());
  other.once('close', () => one.destroy());
  one.pipe(other);
  other.pipe(one);
}

/**
 * Listens on the socket. Exits if another proxy process already listens there. Returns a function that removes the
 * socket's file, unless it is that of a later proxy process.
 */
function listenAlone(file: string, serve: (socket: Socket) => void): () => void {
  process.umask(0o077);
  const inodeOf = () => statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
  let own: bigint | undefined;
  const server = createServer(serve);
  server.on('listening', () => {
    own = inodeOf();
  });
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') process.exit(1);
    const other = connect(file);
    other.once('connect', () => process.exit(0));
    other.once('error', () => {
      rmSync(file, { force: true });
      server.listen(file);
    });
  });
  server.listen(file);
  return () => {
    if (inodeOf() === own) rmSync(file, { force: true });
  };
}

/**
 * Creates a room: a network namespace that contains only two listening sockets, one for the hub's port and one for the
 * proxy. A helper process inside the namespace opens the sockets, passes them to this process and exits. The file
 * descriptors of the namespaces keep the room in existence after that.
 */
async function makeRoom(bubblewrap: string, hubPort: number | null): Promise<OpenRoom> {
  // Bubblewrap creates the network namespace because it also turns on the loopback device. `unshare` does not.
  const confined = ['--unshare-user', '--unshare-net', '--die-with-parent', '--dev-bind', '/', '/', '--'];
  const argv = [...confined, process.execPath, process.argv[1]!, 'room', String(hubPort ?? 0)];
  const helper = spawn(bubblewrap, argv, { cwd: '/', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const timer = setTimeout(() => helper.kill('SIGKILL'), ROOM_TIMEOUT_MS);
  const fds: number[] = [];
  const servers: Server[] = [];
  let stderr = '';
  helper.stderr!.on('data', chunk => {
    if (stderr.length < 2_000) stderr += chunk;
  });
  try {
    const ports = await handedOver(helper, fds, servers);
    helper.disconnect();
    // The helper accepts connections until it exits.
    await exitOf(helper);
    if (servers.length !== 2) throw new Error(stderr.trim() || 'its helper ended early');
    const [user, net] = fds.map(fd => `/proc/${process.pid}/fd/${fd}`);
    return {
      ...ports,
      user: user!,
      net: net!,
      fds,
      servers,
      sockets: new Set(),
      tenant: null,
      wasEntered: false,
    };
  } catch (thrown) {
    helper.kill('SIGKILL');
    for (const fd of fds) closeSync(fd);
    for (const server of servers) server.close();
    throw new Error(
      `A network for a sandbox could not be made: ${stderr.trim() || (thrown as Error).message}`,
    );
  } finally {
    clearTimeout(timer);
  }
}

interface HelperMessage {
  pid: number;
  hubPort: number;
  proxyPort: number;
}

function handedOver(
  helper: ChildProcess,
  fds: number[],
  servers: Server[],
): Promise<{ hubPort: number; proxyPort: number }> {
  return new Promise((resolve, reject) => {
    let ports: HelperMessage | null = null;
    helper.on('message', (message: HelperMessage | string, handle) => {
      try {
        if (typeof message === 'object') {
          ports = message;
          for (const name of ['user', 'net']) {
            const file = `/proc/${message.pid}/ns/${name}`;
            if (readlinkSync(file) === readlinkSync(`/proc/self/ns/${name}`))
              throw new Error(`its ${name} namespace is that of this machine`);
            fds.push(openSync(file, 'r'));
          }
        } else servers.push(handle as Server);
        if (ports && servers.length === 2) resolve({ hubPort: ports.hubPort, proxyPort: ports.proxyPort });
      } catch (thrown) {
        reject(thrown as Error);
      }
    });
    helper.once('error', reject);
    helper.once('exit', () => reject(new Error('its helper ended early')));
  });
}

const exitOf = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });

/** Runs the helper process inside a new network namespace. See `makeRoom`. */
export async function runRoomHelper(hubPort: number): Promise<void> {
  const servers = await Promise.all([hubPort, 0].map(port => listening(port)));
  const [hub, proxy] = servers.map(server => (server.address() as { port: number }).port);
  process.once('disconnect', () => process.exit(0));
  process.send!({ pid: process.pid, hubPort: hub, proxyPort: proxy } satisfies Partial<HelperMessage>);
  for (const server of servers) process.send!('server', server);
}

function listening(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
