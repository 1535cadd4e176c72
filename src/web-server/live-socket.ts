import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { TICKET_WRONG, ticketOf } from './by-ticket.ts';
import { HttpProblem } from './http-problem.ts';
import { LiveClient } from './live-client.ts';
import { LiveFeed } from './live-feed.ts';
import { OutputWatches } from './output-watches.ts';
import type { WebPorts } from './ports.ts';
import type { Tickets } from './tickets.ts';

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
    this.watches = new OutputWatches(ports.services, times.lookMs);
    // With a listener, ws leaves the response to us.
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
    socket.on('error', () => {}); // 'close' follows
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
