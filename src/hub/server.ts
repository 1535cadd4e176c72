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

const HelloLine = z.object({
  squad: z.literal(1),
  version: z.string(),
  view: z.enum(['mcp', 'control', 'subagent']),
  pid: z.number().int(),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  startsHub: z.literal(true).optional(),
  workspace: z.string().optional(),
  toolsets: z.string().optional(),
  config: z.string().optional(),
  token: z.string().optional(),
  lostSince: z.number().optional(),
});

type Greeting = Handshake | { refusal: { code: string; message: string } } | null;

/** Reads exactly the first line; what came after it is put back for the view. Null when the client left without a word. */
function readHandshake(socket: Socket): Promise<Greeting> {
  return new Promise(resolve => {
    let pieces: Buffer[] = [];
    let length = 0;
    const done = (greeting: Greeting) => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(greeting);
    };
    const onEnd = () => done(null);
    const onData = (chunk: Buffer) => {
      const at = chunk.indexOf(NEWLINE);
      pieces.push(at < 0 ? chunk : chunk.subarray(0, at));
      length += chunk.length;
      if (at < 0) return void (length > MAX_HANDSHAKE_BYTES && done(refusal('Its hello is too long')));
      const rest = chunk.subarray(at + 1);
      const text = Buffer.concat(pieces).toString();
      pieces = [];
      done(parse(text));
      if (rest.length > 0) socket.unshift(rest);
    };
    const timer = setTimeout(() => done(refusal('It said no hello')), HANDSHAKE_TIMEOUT_MS);
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}

function parse(text: string): Greeting {
  try {
    const parsed = HelloLine.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : refusal('Its hello is not one this hub understands');
  } catch {
    return refusal('Its first line is not JSON');
  }
}

const refusal = (what: string): Greeting => ({
  refusal: {
    code: 'INVALID_INPUT',
    message: `${what}. This socket is for Squad's own programs: use \`squad mcp\`.`,
  },
});

/** A greeted connection: the hello, and a socket positioned right after it. */
export interface Connection {
  hello: Handshake;
  socket: Socket;
  /** What was taken from it and is not answered yet; kept up to date by its view. */
  calls: number;
  /** The hub has parted from it: a view that has not begun to read must not. */
  isOver: boolean;
}

/** A client that does not read its last lines is not waited for any longer than this. */
const LAST_LINES_MS = 1_000;

/** For the greeting of a client. */
type Readiness = Pick<HandshakeReply & { ok: true }, 'warnings' | 'started'>;

interface HubServerOptions {
  socketPath: string;
  version: string;
  /** Serves one connection; settles when it is over. */
  views: Record<View, (connection: Connection) => Promise<void>>;
  /**
   * Settles when this hub can serve this client, with what it is to hear first. Until then it is not greeted; if it never can,
   * it is told why. Null: the next hub can, and the connection is closed without a word. `ask` challenges the client to prove which process it is.
   */
  ready?(hello: Handshake, ask: (file: string) => void): Promise<Readiness | null>;
  onClients(count: number): void;
  /** A client of a later version came: if it may, this hub should make way when it can, for as long as that client is there. */
  onNewer(hello: Handshake, gone: Promise<void>): void;
  warn(message: string, cause: unknown): void;
}

/** The hub's front door: one socket, one hello line, then the view that was asked for. */
export class HubServer {
  private readonly options: HubServerOptions;
  private server: Server | null = null;
  /** Earlier ones, whose socket file was removed: their connections go on. */
  private readonly retired: Promise<void>[] = [];
  private readonly sockets = new Map<Socket, Connection | null>();

  constructor(options: HubServerOptions) {
    this.options = options;
  }

  get clients(): number {
    return this.sockets.size;
  }

  /** The caller holds the lock, so whatever is at the path is a dead hub's. Called again, it replaces a socket that was removed. */
  async listen(): Promise<void> {
    const { socketPath } = this.options;
    // Closed first: closing removes whatever is at the path.
    if (this.server) this.retired.push(closed(this.server));
    const server = createServer({ allowHalfOpen: true }, socket => void this.greet(socket));
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

  /** No new connections; those there are hear a last word, and their clients start or find the next hub. */
  async close(bye: Bye['bye']): Promise<void> {
    const over = Promise.all([...this.retired, ...(this.server ? [closed(this.server)] : [])]);
    for (const [socket, connection] of this.sockets) {
      if (connection) part(connection, bye);
      endSoon(socket);
    }
    await over;
  }

  private async greet(socket: Socket): Promise<void> {
    const { version, views, onNewer, warn } = this.options;
    this.sockets.set(socket, null);
    this.options.onClients(this.sockets.size);
    socket.once('close', () => {
      this.sockets.delete(socket);
      this.options.onClients(this.sockets.size);
    });
    socket.on('error', () => {}); // 'close' follows: a client that breaks off is a client that left
    try {
      const hello = await readHandshake(socket);
      if (hello === null) return void socket.destroy();
      if ('refusal' in hello) return void socket.end(line({ squad: 1, ok: false, error: hello.refusal }));
      const ready = await this.readyFor(hello, file => void socket.write(line({ squad: 1, prove: file })));
      if (ready === null) return void socket.destroy();
      if ('refusal' in ready) return void socket.end(line({ squad: 1, ok: false, error: ready.refusal }));
      if (!socket.writable) return;
      const connection: Connection = { hello, socket, calls: 0, isOver: false };
      this.sockets.set(socket, connection);
      // A client that got no greeting knows that nothing it sent was taken: so the greeting is out before anything is.
      await new Promise<unknown>(written =>
        socket.write(line({ squad: 1, ok: true, version, pid: process.pid, ...ready }), written),
      );
      if (isNewer(hello.version, version)) {
        onNewer(hello, new Promise(settle => socket.once('close', () => settle())));
        // If this hub can go at once, it does so before it takes the first question: the newer one answers it.
        await new Promise(settle => setImmediate(settle));
      }
      if (!connection.isOver) await views[hello.view](connection);
    } catch (thrown) {
      warn('A connection failed', thrown);
    } finally {
      endSoon(socket);
    }
  }

  private async readyFor(
    hello: Handshake,
    ask: (file: string) => void,
  ): Promise<Readiness | { refusal: ErrorShape } | null> {
    try {
      return this.options.ready ? await this.options.ready(hello, ask) : {};
    } catch (thrown) {
      return { refusal: asSquadError(thrown).toShape() };
    }
  }
}

const closed = (server: Server): Promise<void> => new Promise(resolve => server.close(() => resolve()));

/** From here on nothing is taken from the client: what is still on its way is thrown away unread, and it is told so. */
function part(connection: Connection, bye: Bye['bye']): void {
  const { socket, calls } = connection;
  connection.isOver = true;
  socket.removeAllListeners('data');
  socket.resume();
  if (socket.writable) socket.write(line({ squad: 1, bye, idle: calls === 0 }));
}

/**
 * It is the client that closes, once it has heard. Were it closed here, a client that is just writing would find that out
 * first, and never read our last words.
 */
function endSoon(socket: Socket): void {
  socket.resume();
  socket.end();
  setTimeout(() => socket.destroy(), LAST_LINES_MS).unref();
}

const line = (words: Challenge | HandshakeReply | Bye): string => `${JSON.stringify(words)}\n`;
