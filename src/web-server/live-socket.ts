import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { TICKET_WRONG, ticketOf } from './by-ticket.ts';
import { HttpProblem } from './http-problem.ts';
import { LivePage } from './live-client.ts';
import { LiveFeed } from './live-feed.ts';
import { OutputWatches } from './output-watches.ts';
import type { PagePorts } from './ports.ts';
import type { Tickets } from './tickets.ts';

export interface LiveTimes {
  flushMs: number;
  beatMs: number;
  silentMs: number;
  lookMs: number;
}

const MAX_UNSENT = 1024 * 1024;
const MAX_MESSAGE_LENGTH = 4 * 1024;
const FAREWELL_MS = 500;
/** What a close says: the server goes; a message made no sense; the server is in trouble. */
const GOING_AWAY = 1001;
const POLICY = 1008;
const BROKEN = 1011;

const NO_HANDSHAKE = new HttpProblem(400, 'INVALID_INPUT', 'Not a WebSocket handshake (version 13)');

/** The WebSocket of every open page. */
export class LiveSocket {
  private readonly server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_LENGTH });
  private readonly ports: PagePorts;
  private readonly tickets: Tickets;
  private readonly times: LiveTimes;
  private readonly feed: LiveFeed;
  private readonly watches: OutputWatches;

  constructor(ports: PagePorts, tickets: Tickets, times: LiveTimes) {
    this.ports = ports;
    this.tickets = tickets;
    this.times = times;
    this.feed = new LiveFeed(ports, times);
    this.watches = new OutputWatches(ports.services, times.lookMs);
    // Whoever listens for it answers itself, and not the library.
    this.server.on('wsClientError', () => {});
  }

  /** Null when it is open: that, or a refusal, is certain at once. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admit: () => void): HttpProblem | null {
    const errand = this.tickets.redeem(ticketOf(request), 'live');
    if (!errand) return TICKET_WRONG;
    let isOpen = false;
    const after = new URL(request.url!, 'http://localhost').searchParams.get('after');
    this.server.handleUpgrade(request, socket, head, opened => {
      isOpen = true;
      admit();
      if (errand.session !== null) opened.once('close', this.ports.sessions.hold(errand.session));
      // What is no number was never given either.
      this.serve(opened, after === null ? null : /^\d{1,15}$/.test(after) ? Number(after) : Infinity);
    });
    return isOpen ? null : NO_HANDSHAKE;
  }

  /** Says goodbye; who does not answer is cut off. */
  async close(): Promise<void> {
    const open = [...this.server.clients];
    const closed = open.map(socket => new Promise(settle => socket.once('close', settle)));
    for (const socket of open) socket.close(GOING_AWAY, 'The hub stops');
    const patience = setTimeout(() => {
      for (const socket of open) socket.terminate();
    }, FAREWELL_MS);
    await Promise.all(closed);
    clearTimeout(patience);
  }

  private serve(socket: WebSocket, after: number | null): void {
    const page = new LivePage(socket, {
      silentMs: this.times.silentMs,
      mostUnsent: MAX_UNSENT,
      reset: () => this.feed.reset('This client was too slow to receive every change'),
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('message', (data, isBinary) => {
      const why = this.hear(page, data, isBinary);
      if (why !== null) socket.close(POLICY, why);
    });
    socket.on('close', () => {
      this.feed.leave(page);
      this.watches.leave(page);
    });
    this.feed.join(page, after).then(
      () => {
        if (socket.readyState !== socket.OPEN) this.feed.leave(page);
      },
      () => socket.close(BROKEN, 'The events could not be read'),
    );
  }

  /** Why this cannot be gone along with; null: it can. */
  private hear(page: LivePage, data: RawData, isBinary: boolean): string | null {
    const message = isBinary ? null : this.ports.pageMessage(parsed(String(data)));
    if (!message) return 'Not a message of the web UI';
    const { type, ...target } = message;
    if (type === 'unwatch') this.watches.unwatch(page, target);
    else if (!this.watches.watch(page, target)) return 'Too many outputs are watched';
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
