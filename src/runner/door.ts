import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type FrameHead, FrameReader, frame } from '../base/frames.ts';
import { startDaemon } from '../process/programs/daemon.ts';
import { hasExitRecord, readWrapperPid } from '../process/turns/turn-record.ts';

/**
 * HTTP port on this machine where agents reach Squad. The port must not change while agents run, so it belongs to a
 * separate process that outlives connections and runners. The process keeps each request until the hub has answered,
 * and sends it again over the next connection.
 */
interface Door {
  port: number;
  /** Authenticates the runner, which forwards requests to the hub. */
  secret: string;
}

const FILE = 'door.json';
const MAX_BODY = 4 * 1024 * 1024;
const MAX_HEADER = 10_000;
const LOOK_MS = 60_000;
const START_TIMEOUT_MS = 10_000;
/** Headers that are forwarded: the headers of MCP over HTTP. */
const PASSED = /^(authorization|content-type|accept|last-event-id|mcp-[\w-]+|squad-[\w-]+)$/;

interface Call {
  head: FrameHead;
  body: Buffer;
  response: ServerResponse;
  /** Number of parts of the answer that the agent has got. */
  parts: number;
  /** Hub process that may have got the call first. Null if the call was not sent yet. */
  sentTo: string | null;
}

export async function runDoor(base: string): Promise<void> {
  const secret = randomBytes(24).toString('hex');
  const calls = new Map<string, Call>();
  let runner: Duplex | null = null;
  /** Id of the hub process at the other end of the connection. Null until that process has sent it. */
  let desk: string | null = null;
  let last = 0;
  const own = randomBytes(4).toString('hex');

  function send(call: Call): void {
    if (desk === null) return;
    call.sentTo ??= desk;
    runner?.write(frame({ ...call.head, sentTo: call.sentTo, have: call.parts }, call.body));
  }

  function onFrame({ t, id, part, status, headers, end }: FrameHead, body: Buffer): void {
    if (t === 'desk') {
      desk = String(id);
      runner?.write(frame({ t: 'open', ids: [...calls.keys()] }));
      for (const call of calls.values()) send(call);
      return;
    }
    const call = calls.get(String(id));
    // Drops parts that arrive twice.
    if (t !== 'answer' || !call || part !== call.parts) return;
    call.parts++;
    if (status !== undefined) call.response.writeHead(status as number, headers as Record<string, string>);
    if (body.length > 0) call.response.write(body);
    if (!end) return;
    calls.delete(String(id));
    call.response.end();
    runner?.write(frame({ t: 'got', id }));
  }

  async function take(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    if (asked.url !== '/mcp' || !['POST', 'DELETE'].includes(asked.method ?? ''))
      return void response.writeHead(asked.url === '/mcp' ? 405 : 404).end();
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of asked) {
      size += (chunk as Buffer).length;
      if (size > MAX_BODY) return void response.writeHead(413).end();
      chunks.push(chunk as Buffer);
    }
    const id = `${own}-${++last}`;
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => PASSED.test(name)));
    // A request with several values of a header, or with a long header, is refused here. The hub would close the whole
    // connection because of it.
    if (Object.values(headers).some(value => typeof value !== 'string' || value.length > MAX_HEADER))
      return void response.writeHead(431).end();
    const head = { t: 'call', id, method: asked.method, headers };
    const call: Call = { head, body: Buffer.concat(chunks), response, parts: 0, sentTo: null };
    calls.set(id, call);
    response.once('close', () => {
      if (calls.delete(id)) runner?.write(frame({ t: 'drop', id }));
    });
    send(call);
  }

  const server = createServer(
    (asked, response) => void take(asked, response).catch(() => response.destroy()),
  );
  server.on('upgrade', (asked: IncomingMessage, socket: Duplex) => {
    if (asked.headers.authorization !== `Bearer ${secret}`) return void socket.destroy();
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: squad\r\n\r\n');
    runner?.destroy();
    runner = socket;
    desk = null;
    const reader = new FrameReader(onFrame, { maxLine: MAX_BODY, maxBody: MAX_BODY });
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
    socket.on('error', () => {}); // the next runner connects again
    socket.on('close', () => {
      if (runner === socket) runner = null;
    });
  });
  server.requestTimeout = 0;
  const before = readDoor(base)?.port ?? 0;
  await listen(server, before).catch(() => listen(server, 0));
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(base, `${FILE}.new`), JSON.stringify({ port, secret, pid: process.pid }), {
    mode: 0o600,
  });
  renameSync(join(base, `${FILE}.new`), join(base, FILE));
  setInterval(() => {
    if (runner === null && !hasTurns(base)) process.exit(0);
  }, LOOK_MS);
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

function readDoor(base: string): Door | null {
  try {
    return JSON.parse(readFileSync(join(base, FILE), 'utf8')) as Door;
  } catch {
    return null; // there was no door yet
  }
}

/** Whether an agent of this hub may still run on this machine. */
function hasTurns(base: string): boolean {
  try {
    return readdirSync(join(base, 'runs'), { recursive: true, withFileTypes: true }).some(entry => {
      if (entry.name !== 'pid' || hasExitRecord(entry.parentPath)) return false;
      const pid = readWrapperPid(entry.parentPath);
      try {
        return typeof pid === 'number' && process.kill(pid, 0);
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}

/** The runner's connection to the door. */
export class DoorLink {
  private readonly base: string;
  private readonly toHub: (head: FrameHead, body: Buffer) => void;
  private socket: Duplex | null = null;
  private opening: Promise<number> | null = null;
  /** The message with which the hub process has identified itself. */
  private desk: FrameHead | null = null;

  constructor(base: string, toHub: (head: FrameHead, body: Buffer) => void) {
    this.base = base;
    this.toHub = toHub;
    // Agents of an earlier connection may be waiting for answers.
    if (readDoor(base)) void this.connect().catch(() => {}); // an error means that the door has ended with its last agent
  }

  /** Starts the door if necessary, and returns its port. */
  open(): Promise<number> {
    this.opening ??= this.start().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  send(head: FrameHead, body: Buffer): void {
    if (head.t === 'desk') this.desk = head;
    this.socket?.write(frame(head, body));
  }

  private async start(): Promise<number> {
    if (this.socket) return readDoor(this.base)!.port;
    const found = await this.connect().catch(() => null);
    if (found !== null) return found;
    startDaemon([process.execPath, process.argv[1]!, 'door', this.base], this.base);
    for (const until = Date.now() + START_TIMEOUT_MS; ; ) {
      const port = await this.connect().catch(() => null);
      if (port !== null) return port;
      if (Date.now() > until) throw new Error('The address for agents could not be opened');
      await delay(20);
    }
  }

  private connect(): Promise<number> {
    const door = readDoor(this.base);
    if (!door) return Promise.reject(new Error('The port for agents is not open'));
    const headers = { connection: 'Upgrade', upgrade: 'squad', authorization: `Bearer ${door.secret}` };
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port: door.port, path: '/', headers });
      asked.once('error', reject);
      asked.once('response', () => reject(new Error('Another program listens at the port for agents')));
      asked.once('upgrade', (_, socket, first) => {
        const reader = new FrameReader((head, body) => this.toHub(head, body), {
          maxLine: MAX_BODY,
          maxBody: MAX_BODY,
        });
        socket.on('data', (chunk: Buffer) => reader.push(chunk));
        socket.on('error', () => {}); // an error needs no handling here, because the 'close' event follows
        socket.on('close', () => {
          if (this.socket === socket) this.socket = null;
        });
        this.socket = socket;
        if (this.desk) socket.write(frame(this.desk));
        // Waiting requests may arrive in the same packet as the upgrade response.
        reader.push(first);
        resolve(door.port);
      });
      asked.end();
    });
  }
}
