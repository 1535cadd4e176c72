import { chmodSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { z } from 'zod';
import {
  type Bye,
  type Challenge,
  type Handshake,
  type HandshakeReply,
  isNewer,
  type View,
} from '../link/handshake.ts';
import { ownFolder } from '../link/home.ts';
import { asSquadError, type ErrorShape } from '../schema/error.ts';

const MAX_HANDSHAKE_BYTES = 4 * 1024 * 1024;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const NEWLINE = 10;

const HandshakeLine = z.object({
  squad: z.literal(1),
  version: z.string(),
  view: z.enum(['mcp', 'control', 'subagent']),
  pid: z.number().int(),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  startsHub: z.literal(true).optional(),
  workspace: z.string().optional(),
  client: z.string().min(1).max(60).optional(),
  toolsets: z.string().optional(),
  config: z.string().optional(),
  token: z.string().optional(),
  lostSince: z.number().optional(),
});

type FirstLine = Handshake | { refusal: { code: string; message: string } } | null;

/** Reads exactly the first line and leaves the rest for the view. Null when the client disconnected before that. */
function readHandshake(socket: Socket): Promise<FirstLine> {
  return new Promise(resolve => {
    let pieces: Buffer[] = [];
    let length = 0;
    const done = (read: FirstLine) => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(read);
    };
    const onEnd = () => done(null);
    const onData = (chunk: Buffer) => {
      const at = chunk.indexOf(NEWLINE);
      pieces.push(at < 0 ? chunk : chunk.subarray(0, at));
      length += chunk.length;
      if (at < 0) return void (length > MAX_HANDSHAKE_BYTES && done(refusal('The handshake is too long')));
      const rest = chunk.subarray(at + 1);
      const text = Buffer.concat(pieces).toString();
      pieces = [];
      done(parse(text));
      if (rest.length > 0) socket.unshift(rest);
    };
    const timer = setTimeout(() => done(refusal('No handshake came')), HANDSHAKE_TIMEOUT_MS);
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}

function parse(text: string): FirstLine {
  try {
    const parsed = HandshakeLine.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : refusal('The handshake has a form that this hub does not know');
  } catch {
    return refusal('The first line is not JSON');
  }
}

const refusal = (what: string): FirstLine => ({
  refusal: {
    code: 'INVALID_INPUT',
    message: `${what}. This socket is for Squad's own programs: use \`squad mcp\`.`,
  },
});

/** An accepted connection: its handshake, and a socket positioned right after it. */
export interface Connection {
  handshake: Handshake;
  socket: Socket;
  /** Number of unanswered calls; the view keeps it up to date. */
  calls: number;
  /** True if the hub has sent its last line. A view that has not begun to read must not begin. */
  isOver: boolean;
}

/** Timeout for a client that does not read the hub's last lines. */
const LAST_LINES_TIMEOUT_MS = 1_000;

/** Fields that are added to the reply to a handshake. */
type Readiness = Pick<HandshakeReply & { ok: true }, 'warnings' | 'started'>;

interface HubServerOptions {
  socketPath: string;
  version: string;
  /** Serves one connection; resolves when the connection has ended. */
  views: Record<View, (connection: Connection) => Promise<void>>;
  /**
   * Resolves when this hub can serve the client, with fields for the reply; a rejection becomes the reply. Null
   * closes the connection without a reply, because only the next hub can serve the client. `ask` challenges the
   * client to prove which process it is.
   */
  ready?(handshake: Handshake, ask: (file: string) => void): Promise<Readiness | null>;
  onClients(count: number): void;
  /**
   * Called when a client of a later version connects: this hub should hand over when it can, as long as that client
   * stays connected and is allowed to replace it.
   */
  onNewer(handshake: Handshake, gone: Promise<void>): void;
  warn(message: string, cause: unknown): void;
}

/** The hub's socket: one handshake line, then the view that the client asked for. */
export class HubServer {
  private readonly options: HubServerOptions;
  private server: Server | null = null;
  /** Earlier servers whose socket file was removed; their connections continue. */
  private readonly retired: Promise<void>[] = [];
  private readonly sockets = new Map<Socket, Connection | null>();

  constructor(options: HubServerOptions) {
    this.options = options;
  }

  get clients(): number {
    return this.sockets.size;
  }

  /**
   * The caller holds the home's lock, so an existing socket belongs to a dead hub. May be called again to replace a
   * socket that was removed.
   */
  async listen(): Promise<void> {
    const { socketPath } = this.options;
    // The old server is closed first, because closing it removes the file at the path, whatever that is.
    if (this.server) this.retired.push(closed(this.server));
    const server = createServer({ allowHalfOpen: true }, socket => void this.accept(socket));
    this.server = server;
    ownFolder(dirname(socketPath));
    try {
      unlinkSync(socketPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socketPath, () => resolve());
    });
    chmodSync(socketPath, 0o600);
  }

  /**
   * Accepts no new connections, and sends a last line on the open ones, so that their clients start or find the next
   * hub.
   */
  async close(bye: Bye['bye']): Promise<void> {
    const over = Promise.all([...this.retired, ...(this.server ? [closed(this.server)] : [])]);
    for (const [socket, connection] of this.sockets) {
      if (connection) partFrom(connection, bye);
      endSoon(socket);
    }
    await over;
  }

  private async accept(socket: Socket): Promise<void> {
    const { version, views, onNewer, warn } = this.options;
    this.sockets.set(socket, null);
    this.options.onClients(this.sockets.size);
    socket.once('close', () => {
      this.sockets.delete(socket);
      this.options.onClients(this.sockets.size);
    });
    socket.on('error', () => {}); // the 'close' event follows, and a broken connection is treated like a disconnect
    try {
      const handshake = await readHandshake(socket);
      if (handshake === null) return void socket.destroy();
      if ('refusal' in handshake)
        return void socket.end(line({ squad: 1, ok: false, error: handshake.refusal }));
      const ready = await this.readyFor(
        handshake,
        file => void socket.write(line({ squad: 1, prove: file })),
      );
      if (ready === null) return void socket.destroy();
      if ('refusal' in ready) return void socket.end(line({ squad: 1, ok: false, error: ready.refusal }));
      if (!socket.writable) return;
      const connection: Connection = { handshake, socket, calls: 0, isOver: false };
      this.sockets.set(socket, connection);
      // The reply is sent before anything is read: a client without a reply knows that the hub has read nothing.
      await new Promise<unknown>(written =>
        socket.write(line({ squad: 1, ok: true, version, pid: process.pid, ...ready }), written),
      );
      if (isNewer(handshake.version, version)) {
        onNewer(handshake, new Promise(settle => socket.once('close', () => settle())));
        // If this hub can stop now, it stops before it reads the first request, which the newer hub then answers.
        await new Promise(settle => setImmediate(settle));
      }
      if (!connection.isOver) await views[handshake.view](connection);
    } catch (thrown) {
      warn('A connection failed', thrown);
    } finally {
      endSoon(socket);
    }
  }

  private async readyFor(
    handshake: Handshake,
    ask: (file: string) => void,
  ): Promise<Readiness | { refusal: ErrorShape } | null> {
    try {
      return this.options.ready ? await this.options.ready(handshake, ask) : {};
    } catch (thrown) {
      return { refusal: asSquadError(thrown).toShape() };
    }
  }
}

const closed = (server: Server): Promise<void> => new Promise(resolve => server.close(() => resolve()));

/** Sends the last line. From then on input is discarded unread, as the line says. */
function partFrom(connection: Connection, bye: Bye['bye']): void {
  const { socket, calls } = connection;
  connection.isOver = true;
  socket.removeAllListeners('data');
  socket.resume();
  if (socket.writable) socket.write(line({ squad: 1, bye, idle: calls === 0 }));
}

/**
 * Leaves closing to the client. If the hub closed first, a client that is writing would get an error before it reads
 * the last line.
 */
function endSoon(socket: Socket): void {
  socket.resume();
  socket.end();
  setTimeout(() => socket.destroy(), LAST_LINES_TIMEOUT_MS).unref();
}

const line = (message: Challenge | HandshakeReply | Bye): string => `${JSON.stringify(message)}\n`;
