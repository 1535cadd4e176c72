import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { backOffMs } from '../base/back-off.ts';
import { visibleLine } from '../base/text.ts';
import { controlLine } from '../control/control-line.ts';
import type { ControlReply, ControlRequest } from '../control/serve-control.ts';
import {
  type Bye,
  type Challenge,
  type Handshake,
  type HandshakeReply,
  isNewer,
  Proof,
} from '../link/handshake.ts';
import { homeFault, homeFolder, socketPath, unusable } from '../link/home.ts';
import { HELLO_MS, hubPid, noAnswer } from '../link/hub-record.ts';
import { handshakeFor, hubProgram } from '../link/program.ts';
import { connect, connectOrStart, knock, type LaunchedHub } from '../link/start-hub.ts';
import type { Input, OperationName, Output } from '../operations/operations.ts';
import { asSquadError, isErrorCode, SquadError } from '../schema/error.ts';

export interface CallOptions {
  waitMs?: number;
  onItem?(item: unknown): void;
  onProgress?(message: string): void;
}

interface Open extends CallOptions {
  request: ControlRequest;
  /** False if a failed write shows that the hub never received the request. */
  isSent: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Rejects every open call when the hub exits. Runs continue, so a reader may connect again and resume. */
export class HubGone extends SquadError {
  constructor() {
    super('HUB_RESTARTED', 'The hub stopped', {
      suggestions: ['Runs continue. Check them with: squad ls'],
    });
  }
}

/** Maximum number of hubs in a row that exit before they have answered anything. */
const MAX_FAILED_CONNECTS = 5;
const BACK_OFF_MS = { first: 20, max: 640 };
/** How long to wait for a newer hub that was announced, before starting one. */
const HANDOVER_MS = 5_000;
const SOCKET_RESTORED_MS = 4_000;
const KNOCK_MS = 100;
/** A hub that ran this long before it exited did not exit because of this client's request. */
const STEADY_MS = 5_000;

const backOff = (failedConnects: number): Promise<void> =>
  new Promise(wake => setTimeout(wake, backOffMs(failedConnects, BACK_OFF_MS)));

const failedConnect = () =>
  new SquadError('HUB_UNREACHABLE', 'The hub closed the connection before it answered', {
    suggestions: ['`squad hub log` shows why. Agents keep running.'],
  });

/** Limits how often a client that lost its hub connects to the next one. */
export class ReconnectLimit {
  private failedConnects = 0;
  private connectedAt = 0;

  connected(): void {
    this.connectedAt = performance.now();
  }

  /**
   * Waits before the next connection, longer after each hub that did not answer. Throws HUB_UNREACHABLE after too
   * many of them.
   */
  async lost(wasUseful = false): Promise<void> {
    const isSteady = wasUseful || performance.now() - this.connectedAt > STEADY_MS;
    this.failedConnects = isSteady ? 0 : this.failedConnects + 1;
    if (this.failedConnects > MAX_FAILED_CONNECTS) throw failedConnect();
    if (this.failedConnects > 0) await backOff(this.failedConnects - 1);
  }
}

/** The input may be omitted if none of its fields is required. */
type Given<N extends OperationName> =
  Record<never, never> extends Input<N>
    ? [input?: Input<N>, options?: CallOptions]
    : [input: Input<N>, options?: CallOptions];

/** Client of the hub's socket. */
export class HubClient {
  private readonly hello: Handshake;
  private readonly open = new Map<number, Open>();
  private socket: Socket | null = null;
  private lastId = 0;
  /** Last message of the previous hub, if it sent one. */
  private bye: Bye | null = null;
  private hubVersion: string | null = null;
  private isClosed = false;
  /** If false, open calls fail when the hub exits, and the client does not search for another hub. */
  private staysConnected = true;
  /** The hub that was started for this client, until it has answered something. */
  private launched: LaunchedHub | null = null;

  private constructor(hello: Partial<Handshake>) {
    this.hello = { ...handshakeFor('control'), ...hello };
  }

  /** Connects to the hub, and starts one if none is running. */
  static async start(hello: Partial<Handshake> = {}): Promise<HubClient> {
    const client = new HubClient(hello);
    await client.connect();
    return client;
  }

  /** Connects to a running hub. Null if there is none. */
  static find(hello: Partial<Handshake> = {}, helloMs = HELLO_MS): Promise<HubClient | null> {
    return new HubClient(hello).join(helloMs);
  }

  /** Connects to a running hub and never to another one: this program must not start the next hub. */
  static findOnly(helloMs = HELLO_MS): Promise<HubClient | null> {
    const client = new HubClient({ startsHub: undefined });
    client.staysConnected = false;
    return client.join(helloMs);
  }

  private async join(helloMs: number): Promise<HubClient | null> {
    const home = homeFolder(process.env);
    const socket = await connect(socketPath(home));
    if (socket) return (await this.handshake(socket, helloMs)) ? this : null;
    // A hub whose socket file was removed creates a new one within a second or two.
    for (const until = performance.now() + SOCKET_RESTORED_MS; hubPid(home) !== null; ) {
      const restored = await knock(home, KNOCK_MS);
      if (restored) return (await this.handshake(restored, helloMs)) ? this : null;
      if (performance.now() > until) throw asHubError(noAnswer(home));
    }
    const fault = homeFault(home);
    if (fault) throw unusable(fault);
    return null;
  }

  /** Connects, makes one call and disconnects. */
  static async ask<N extends OperationName>(
    hello: Partial<Handshake>,
    operation: N,
    ...given: Given<N>
  ): Promise<Output<N>> {
    using client = await HubClient.start(hello);
    return await client.call(operation, ...given);
  }

  call<N extends OperationName>(operation: N, ...[input, options = {}]: Given<N>): Promise<Output<N>> {
    const request: ControlRequest = {
      id: ++this.lastId,
      operation,
      input: input ?? {},
      waitMs: options.waitMs,
    };
    return new Promise<Output<N>>((resolve, reject) => {
      const open: Open = { ...options, request, isSent: true, resolve: resolve as Open['resolve'], reject };
      this.open.set(request.id, open);
      this.send(open);
    });
  }

  /** Resolves when the connected hub exits: with its last line, or null if it sent none. */
  async untilGone(): Promise<Bye['bye'] | null> {
    const { socket } = this;
    if (socket && !socket.closed) await new Promise(settle => socket.once('close', settle));
    return this.bye?.bye ?? null;
  }

  close(): void {
    this.isClosed = true;
    this.socket?.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** A hub that closes the connection during the handshake is exiting: try the next one. */
  private async connect(): Promise<void> {
    const onLaunch = (hub: LaunchedHub) => {
      this.launched = hub;
    };
    const home = homeFolder(process.env);
    const options = { home, env: process.env, program: hubProgram, onLaunch };
    for (let tries = 0; tries < MAX_FAILED_CONNECTS; tries++) {
      // A hub hands over only to a newer client, and that client starts the next hub. Other clients wait for it.
      const isAwaited = this.bye?.bye === 'handover' && !this.isHeir;
      const successor = isAwaited ? await knock(home, HANDOVER_MS) : null;
      const socket =
        successor ??
        (await connectOrStart(options).catch(thrown => {
          throw asHubError(thrown);
        }));
      if (await this.handshake(socket)) return;
      await backOff(tries);
    }
    throw (await this.startError()) ?? failedConnect();
  }

  /** Performs the handshake. False when the hub closes the connection first. */
  private handshake(socket: Socket, helloMs = HELLO_MS): Promise<boolean> {
    let isConnected = false;
    const proof = new Proof();
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(() => {
        reject(asHubError(noAnswer(homeFolder(process.env))));
        socket.destroy();
      }, helloMs);
      const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY });
      lines.on('line', line => {
        clearTimeout(timeout);
        const message = JSON.parse(line) as Challenge | HandshakeReply | Bye | ControlReply;
        if ('bye' in message) this.bye = message;
        else if (!('squad' in message)) this.receive(message);
        else if (proof.answers(message) || !('ok' in message)) return;
        else if (!message.ok)
          reject(asHubError(Object.assign(new Error(message.error.message), message.error)));
        else {
          isConnected = true;
          proof.release();
          this.hubVersion = message.version;
          this.socket = socket;
          this.bye = null;
          for (const warning of message.warnings ?? [])
            process.stderr.write(`squad: ${visibleLine(warning)}\n`);
          resolve(true);
        }
      });
      for (const end of [socket, lines]) end.on('error', () => {}); // the 'close' event follows, and the reader repeats the socket's error
      socket.on('close', () => {
        clearTimeout(timeout);
        proof.release();
        resolve(false);
        if (isConnected) void this.disconnected();
      });
      socket.write(`${JSON.stringify(this.hello)}\n`);
    });
  }

  private send(open: Open): void {
    open.isSent = this.socket?.destroyed !== true;
    if (!open.isSent) return void this.disconnected();
    this.socket?.write(controlLine(open.request), error => {
      if (error) open.isSent = false;
    });
  }

  /**
   * Sends calls that an idle hub did not read before it exited to the next hub. Normally the last line of the hub
   * reports that it was idle. That line can be lost when this client writes into a closing connection. In that case
   * the failed write shows that the hub did not read the call.
   */
  private async disconnected(): Promise<void> {
    const isUnaccepted = this.bye?.idle || [...this.open.values()].every(open => !open.isSent);
    if (!isUnaccepted || this.isClosed || !this.staysConnected)
      return this.drop((await this.startError()) ?? new HubGone());
    if (this.open.size === 0 && !(this.bye?.bye === 'handover' && this.isHeir)) return;
    this.socket = null;
    try {
      await this.connect();
      for (const open of this.open.values()) this.send(open);
    } catch (thrown) {
      this.drop(asSquadError(thrown));
    }
  }

  /**
   * True if this client is newer than the last hub. A hub that hands over waits for this client, or for another
   * client of the same version.
   */
  private get isHeir(): boolean {
    return (
      this.hello.startsHub === true && isNewer(this.hello.version, this.hubVersion ?? this.hello.version)
    );
  }

  /** The error that the new hub printed before it exited, if it printed one. */
  private async startError(): Promise<SquadError | null> {
    const error = this.isClosed ? null : await this.launched?.exitError();
    return error ? asHubError(error) : null;
  }

  private receive(reply: ControlReply): void {
    this.launched = null;
    const open = this.open.get(reply.id);
    if (!open) return;
    if ('item' in reply) open.onItem?.(reply.item);
    else if ('progress' in reply) open.onProgress?.(reply.progress);
    else {
      this.open.delete(reply.id);
      if ('error' in reply) open.reject(SquadError.from(reply.error));
      else open.resolve(reply.result);
    }
  }

  private drop(error: SquadError): void {
    for (const { reject } of this.open.values()) reject(error);
    this.open.clear();
  }
}

function asHubError(thrown: Error & { code?: unknown; suggestions?: string[] }): SquadError {
  const code = isErrorCode(thrown.code) ? thrown.code : 'HUB_UNREACHABLE';
  return new SquadError(code, thrown.message, { suggestions: thrown.suggestions, cause: thrown });
}
