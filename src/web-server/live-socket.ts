import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import type { OutputStream } from '../core/ports/run-files.ts';
import type { RunId } from '../schema/ids.ts';
import { readPage, TICKET_WRONG, ticketOf } from './by-ticket.ts';
import { HttpProblem } from './http-problem.ts';
import { frame, LiveFeed } from './live-feed.ts';
import type { WebPorts } from './ports.ts';
import type { Tickets } from './tickets.ts';

export interface LiveClientOptions {
  /** Time without a message or pong after which the connection is closed. */
  silentMs: number;
  /** Maximum number of unsent bytes of a client. Beyond it, messages for the client are dropped. */
  maxUnsentBytes: number;
  /** Message for a client that had fallen behind and has caught up. */
  reset(): Buffer;
}

/** Number of unsent bytes up to which a client counts as caught up. */
const DRAINED_BYTES = 64 * 1024;

/** One open web UI. A slow reader costs a bounded amount of memory: messages above the limit are dropped, and a reset follows. */
export class LiveClient {
  private readonly socket: WebSocket;
  private readonly options: LiveClientOptions;
  private readonly silence: NodeJS.Timeout;
  private isBehind = false;

  constructor(socket: WebSocket, options: LiveClientOptions) {
    this.socket = socket;
    this.options = options;
    this.silence = setTimeout(() => socket.terminate(), options.silentMs).unref();
    socket.on('pong', () => this.silence.refresh());
    socket.on('message', () => this.silence.refresh());
    socket.on('close', () => clearTimeout(this.silence));
  }

  /** All clients share the same buffer; it is not copied. Returns false when the message was dropped. */
  send(message: Buffer): boolean {
    const { socket, options } = this;
    if (this.isBehind || socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount > options.maxUnsentBytes) {
      this.isBehind = true;
      return false;
    }
    socket.send(message, { binary: false }, () => this.onSent());
    return true;
  }

  beat(message: Buffer): void {
    if (this.isBehind) return;
    this.send(message);
    this.socket.ping();
  }

  private onSent(): void {
    if (!this.isBehind || this.socket.bufferedAmount > DRAINED_BYTES) return;
    this.isBehind = false;
    this.send(this.options.reset());
  }
}

export interface Target {
  runId: RunId;
  turn: number;
  stream: OutputStream;
}

interface Watched {
  target: Target;
  isChecking: boolean;
  /** Clients of the target, each with the state that was last sent to it. Null if nothing was sent yet. */
  clients: Map<LiveClient, string | null>;
}

type WatchServices = Pick<WebPorts['services'], 'files' | 'runner' | 'traces'> & {
  /** State of an output of another hub. Null if the run is of this hub. */
  elsewhere(target: Target): Promise<OutputState | null>;
};

interface OutputState {
  size: number;
  messages: number;
  isOver: boolean;
}

const MAX_PER_CLIENT = 8;

/** Notifies clients when an output grows. Sizes are read only while a client watches, once for all clients. */
export class OutputWatches {
  private readonly services: WatchServices;
  private readonly everyMs: number;
  private readonly watched = new Map<string, Watched>();
  private timer: NodeJS.Timeout | null = null;

  constructor(services: WatchServices, everyMs: number) {
    this.services = services;
    this.everyMs = everyMs;
  }

  /** Returns false when the client already watches too many outputs. */
  watch(client: LiveClient, target: Target): boolean {
    const key = keyOf(target);
    const entry = this.watched.get(key) ?? { target, isChecking: false, clients: new Map() };
    const others = [...this.watched.values()].filter(each => each !== entry && each.clients.has(client));
    if (others.length >= MAX_PER_CLIENT) return false;
    this.watched.set(key, entry);
    entry.clients.set(client, null);
    this.timer ??= setInterval(() => this.check(), this.everyMs).unref();
    this.check();
    return true;
  }

  unwatch(client: LiveClient, target: Target): void {
    this.drop(client, keyOf(target));
  }

  leave(client: LiveClient): void {
    for (const key of this.watched.keys()) this.drop(client, key);
  }

  private drop(client: LiveClient, key: string): void {
    const entry = this.watched.get(key);
    entry?.clients.delete(client);
    if (entry?.clients.size === 0) this.watched.delete(key);
    if (this.watched.size > 0 || !this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  /** Checks each output by itself, because another hub may take long to answer. */
  private check(): void {
    for (const entry of this.watched.values()) {
      if (entry.isChecking) continue;
      entry.isChecking = true;
      void this.checkOne(entry)
        .catch(() => {}) // an error of the disk or of another hub is ignored, because the next check follows soon
        .then(() => {
          entry.isChecking = false;
        });
    }
  }

  private async stateOf({ runId, turn, stream }: Target): Promise<OutputState> {
    const { files, runner, traces } = this.services;
    // The state is read before the size: if the turn has ended by now, the size below is final.
    const run = runner.current(runId);
    const isOver = run === null || run.turn > turn;
    const size = await files.size({ runId, number: turn }, stream);
    return { size, messages: traces.savedOf(runId), isOver };
  }

  private async checkOne({ target, clients }: Watched): Promise<void> {
    const { runner, elsewhere } = this.services;
    const ofOther = runner.current(target.runId) ? null : await elsewhere(target);
    const { size, messages, isOver } = ofOther ?? (await this.stateOf(target));
    const current = `${size} ${messages}`;
    const message = frame({ type: 'grew', ...target, size, messages, isOver });
    for (const [client, sent] of clients) {
      if (!isOver && sent === current) continue;
      // A client that is behind drops the message; it is sent again with the next check.
      if (!client.send(message)) continue;
      clients.set(client, current);
      if (isOver) this.drop(client, keyOf(target));
    }
  }
}

const keyOf = ({ runId, turn, stream }: Target): string => `${runId} ${turn} ${stream}`;

/** How often the size of an output of another hub is requested. */
const ELSEWHERE_INTERVAL_MS = 500;

/** State of an output of another hub. Null if the run is of this hub. */
async function outputElsewhere(
  ports: WebPorts,
  { runId, turn, stream }: Target,
): Promise<OutputState | null> {
  const { store, conversations } = ports.services;
  if (!(await store.otherOwner(runId))) return null;
  await pause(ELSEWHERE_INTERVAL_MS, null, { ref: false });
  const { size, isOver, lastTurn } = await readPage(ports, { run: runId, turn, stream, limit: 1 });
  const messages = await conversations.countMessages(runId);
  return { size, messages, isOver: isOver || lastTurn > turn };
}

export interface LiveTimes {
  flushMs: number;
  beatMs: number;
  silentMs: number;
  lookMs: number;
}

const MAX_UNSENT_BYTES = 1024 * 1024;
const MAX_MESSAGE_BYTES = 4 * 1024;
const CLOSE_TIMEOUT_MS = 500;
/** WebSocket close codes. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;

const NO_HANDSHAKE = new HttpProblem(400, 'INVALID_INPUT', 'Not a WebSocket handshake (version 13)');

/** Accepts the WebSocket of every open web UI. */
export class LiveSocket {
  private readonly server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  private readonly ports: WebPorts;
  private readonly tickets: Tickets;
  private readonly times: LiveTimes;
  private readonly feed: LiveFeed;
  private readonly watches: OutputWatches;

  constructor(ports: WebPorts, tickets: Tickets, times: LiveTimes) {
    this.ports = ports;
    this.tickets = tickets;
    this.times = times;
    this.feed = new LiveFeed(ports, times);
    this.watches = new OutputWatches(
      { ...ports.services, elsewhere: target => outputElsewhere(ports, target) },
      times.lookMs,
    );
    // With a listener for this event, `ws` lets Squad send the response.
    this.server.on('wsClientError', () => {});
  }

  /** Returns null when the WebSocket is open, otherwise the error to respond with. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admit: () => void): HttpProblem | null {
    const errand = this.tickets.redeem(ticketOf(request), 'live');
    if (!errand) return TICKET_WRONG;
    let isOpen = false;
    const after = new URL(request.url!, 'http://localhost').searchParams.get('after');
    this.server.handleUpgrade(request, socket, head, opened => {
      isOpen = true;
      admit();
      if (errand.session !== null) opened.once('close', this.ports.sessions.hold(errand.session));
      // An `after` that is not a number is treated like an unknown event number.
      this.serve(opened, after === null ? null : /^\d{1,15}$/.test(after) ? Number(after) : Infinity);
    });
    return isOpen ? null : NO_HANDSHAKE;
  }

  /** Closes all connections; clients that do not reply in time are terminated. */
  async close(): Promise<void> {
    const open = [...this.server.clients];
    const closed = open.map(socket => new Promise(settle => socket.once('close', settle)));
    for (const socket of open) socket.close(GOING_AWAY, 'The hub stops');
    const timeout = setTimeout(() => {
      for (const socket of open) socket.terminate();
    }, CLOSE_TIMEOUT_MS);
    await Promise.all(closed);
    clearTimeout(timeout);
  }

  private serve(socket: WebSocket, after: number | null): void {
    const client = new LiveClient(socket, {
      silentMs: this.times.silentMs,
      maxUnsentBytes: MAX_UNSENT_BYTES,
      reset: () => this.feed.reset('This client was too slow to receive every change'),
    });
    socket.on('error', () => {}); // an error needs no handling here, because the 'close' event follows
    socket.on('message', (data, isBinary) => {
      const error = this.receive(client, data, isBinary);
      if (error !== null) socket.close(POLICY_VIOLATION, error);
    });
    socket.on('close', () => {
      this.feed.leave(client);
      this.watches.leave(client);
    });
    this.feed.join(client, after).then(
      () => {
        if (socket.readyState !== socket.OPEN) this.feed.leave(client);
      },
      () => socket.close(INTERNAL_ERROR, 'The events could not be read'),
    );
  }

  /** Handles one message; returns the reason why it is refused, or null. */
  private receive(client: LiveClient, data: RawData, isBinary: boolean): string | null {
    const message = isBinary ? null : this.ports.parseMessage(parsed(String(data)));
    if (!message) return 'Not a message of the web UI';
    const { type, ...target } = message;
    if (type === 'unwatch') this.watches.unwatch(client, target);
    else if (!this.watches.watch(client, target)) return 'Too many outputs are watched';
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
