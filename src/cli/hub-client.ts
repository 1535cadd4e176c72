import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { visibleLine } from '../base/text.ts';
import { controlLine } from '../control/control-line.ts';
import type { ControlReply, ControlRequest } from '../control/serve-control.ts';
import { type Bye, type Challenge, type Handshake, type HandshakeReply, isNewer } from '../link/handshake.ts';
import { homeFault, homeFolder, socketPath, unusable } from '../link/home.ts';
import { HELLO_MS, hubPid, noAnswer } from '../link/hub-record.ts';
import { handshakeFor, hubProgram } from '../link/program.ts';
import { Proof } from '../link/proof.ts';
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
  /** False once it is known that the hub never got it: it was closing when we wrote. */
  isSent: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Thrown at every open call when the hub goes away; runs go on, so a reader may connect again and resume. */
export class HubGone extends SquadError {
  constructor() {
    super('HUB_RESTARTED', 'The hub went away', { suggestions: ['Runs go on. Ask again: `squad ls`.'] });
  }
}

/** Hubs in a row that end before they have answered anything. */
export const MAX_FAILED_CONNECTS = 5;
const BACK_OFF_MS = 20;
/** A newer hub that was promised and does not come: then one is started. */
const HANDOVER_MS = 5_000;
const SOCKET_RESTORED_MS = 4_000;
const KNOCK_MS = 100;

/** Twice as long after each further closed door. */
export const backOff = (closedDoors: number): Promise<void> =>
  new Promise(wake => setTimeout(wake, BACK_OFF_MS * 2 ** closedDoors));

export const failedConnect = () =>
  new SquadError(
    'HUB_UNREACHABLE',
    'The hub ends, or closes the connection, before it has answered anything',
    { suggestions: ['`squad hub log` shows why. Runs go on.'] },
  );

/** The input may be left out where nothing in it is required. */
type Given<N extends OperationName> =
  Record<never, never> extends Input<N>
    ? [input?: Input<N>, options?: CallOptions]
    : [input: Input<N>, options?: CallOptions];

/** The terminal's end of the hub's socket. */
export class HubClient {
  private readonly hello: Handshake;
  private readonly open = new Map<number, Open>();
  private socket: Socket | null = null;
  private lastId = 0;
  /** What the last hub said at the end, if anything. */
  private bye: Bye | null = null;
  private hubVersion: string | null = null;
  private isClosed = false;
  /** False: when its hub goes, that is told, and no other is looked for or started. */
  private staysConnected = true;
  /** The hub that was started for this client, until it has answered something. */
  private launched: LaunchedHub | null = null;

  private constructor(hello: Partial<Handshake>) {
    this.hello = { ...handshakeFor('control'), ...hello };
  }

  /** Connects, starting the hub if it is not there. */
  static async start(hello: Partial<Handshake> = {}): Promise<HubClient> {
    const client = new HubClient(hello);
    await client.connect();
    return client;
  }

  /** Connects to a hub that is there, or null. */
  static find(hello: Partial<Handshake> = {}, helloMs = HELLO_MS): Promise<HubClient | null> {
    return new HubClient(hello).join(helloMs);
  }

  /** The same for as long as that hub is there: this program must not be what starts the next one. */
  static findOnly(helloMs = HELLO_MS): Promise<HubClient | null> {
    const client = new HubClient({ startsHub: undefined });
    client.staysConnected = false;
    return client.join(helloMs);
  }

  private async join(helloMs: number): Promise<HubClient | null> {
    const home = homeFolder(process.env);
    const socket = await connect(socketPath(home));
    if (socket) return (await this.greet(socket, helloMs)) ? this : null;
    // A living hub whose socket was removed makes another one within a second or two.
    for (const until = performance.now() + SOCKET_RESTORED_MS; hubPid(home) !== null; ) {
      const restored = await knock(home, KNOCK_MS);
      if (restored) return (await this.greet(restored, helloMs)) ? this : null;
      if (performance.now() > until) throw asHubError(noAnswer(home));
    }
    const fault = homeFault(home);
    if (fault) throw unusable(fault);
    return null;
  }

  /** Connects, asks one thing and leaves. */
  static async ask<N extends OperationName>(
    hello: Partial<Handshake>,
    operation: N,
    ...given: Given<N>
  ): Promise<Output<N>> {
    const client = await HubClient.start(hello);
    return client.call(operation, ...given).finally(() => client.close());
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

  /** Settles when the hub that is connected now goes: with what it said at the end, or null if it could say nothing. */
  async untilGone(): Promise<Bye['bye'] | null> {
    const { socket } = this;
    if (socket && !socket.closed) await new Promise(settle => socket.once('close', settle));
    return this.bye?.bye ?? null;
  }

  close(): void {
    this.isClosed = true;
    this.socket?.destroy();
  }

  /** A hub that closes instead of greeting is on its way out: the next one is asked. */
  private async connect(): Promise<void> {
    const onLaunch = (hub: LaunchedHub) => {
      this.launched = hub;
    };
    const home = homeFolder(process.env);
    const options = { home, env: process.env, program: hubProgram, onLaunch };
    for (let tries = 0; tries < MAX_FAILED_CONNECTS; tries++) {
      // A hub that made way did so for a later client, which starts the next one.
      const isAwaited = this.bye?.bye === 'handover' && !this.isHeir;
      const successor = isAwaited ? await knock(home, HANDOVER_MS) : null;
      const socket =
        successor ??
        (await connectOrStart(options).catch(thrown => {
          throw asHubError(thrown);
        }));
      if (await this.greet(socket)) return;
      await backOff(tries);
    }
    throw (await this.lastWords()) ?? failedConnect();
  }

  /** False when the connection is over before it began. */
  private greet(socket: Socket, helloMs = HELLO_MS): Promise<boolean> {
    let isGreeted = false;
    const proof = new Proof();
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => {
        reject(asHubError(noAnswer(homeFolder(process.env))));
        socket.destroy();
      }, helloMs);
      const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY });
      lines.on('error', () => {}); // it repeats the socket's
      lines.on('line', line => {
        clearTimeout(patience);
        const words = JSON.parse(line) as Challenge | HandshakeReply | Bye | ControlReply;
        if ('bye' in words) this.bye = words;
        else if (!('squad' in words)) this.hear(words);
        else if (proof.answers(words) || !('ok' in words)) return;
        else if (!words.ok) reject(asHubError(Object.assign(new Error(words.error.message), words.error)));
        else {
          isGreeted = true;
          proof.release();
          this.hubVersion = words.version;
          this.socket = socket;
          this.bye = null;
          for (const warning of words.warnings ?? [])
            process.stderr.write(`squad: ${visibleLine(warning)}\n`);
          resolve(true);
        }
      });
      for (const end of [socket, lines]) end.on('error', () => {}); // 'close' follows
      socket.on('close', () => {
        clearTimeout(patience);
        proof.release();
        resolve(false);
        if (isGreeted) void this.parted();
      });
      socket.write(`${JSON.stringify(this.hello)}\n`);
    });
  }

  private send(open: Open): void {
    open.isSent = this.socket?.destroyed !== true;
    if (!open.isSent) return void this.parted();
    this.socket?.write(controlLine(open.request), error => {
      if (error) open.isSent = false;
    });
  }

  /**
   * What a hub that parted idle did not take is asked of the next one. A goodbye can be lost when we wrote into a
   * connection that was closing; then the failed write says as much.
   */
  private async parted(): Promise<void> {
    const isUntaken = this.bye?.idle || [...this.open.values()].every(open => !open.isSent);
    if (!isUntaken || this.isClosed || !this.staysConnected)
      return this.drop((await this.lastWords()) ?? new HubGone());
    if (this.open.size === 0 && !(this.bye?.bye === 'handover' && this.isHeir)) return;
    this.socket = null;
    try {
      await this.connect();
      for (const open of this.open.values()) this.send(open);
    } catch (thrown) {
      this.drop(asSquadError(thrown));
    }
  }

  /** The last hub is older: if it makes way, it is for this client, or for one like it. */
  private get isHeir(): boolean {
    return (
      this.hello.startsHub === true && isNewer(this.hello.version, this.hubVersion ?? this.hello.version)
    );
  }

  /** Why the hub that was started for this client ended, if it did so before it answered anything, and said why. */
  private async lastWords(): Promise<SquadError | null> {
    const words = this.isClosed ? null : await this.launched?.lastWords();
    return words ? asHubError(words) : null;
  }

  private hear(reply: ControlReply): void {
    this.launched = null;
    const open = this.open.get(reply.id);
    if (!open) return;
    if ('item' in reply) open.onItem?.(reply.item);
    else if ('progress' in reply) open.onProgress?.(reply.progress);
    else this.finish(open, reply);
  }

  private finish(open: Open, reply: Extract<ControlReply, { result: unknown } | { error: unknown }>): void {
    this.open.delete(reply.id);
    if ('error' in reply) open.reject(SquadError.from(reply.error));
    else open.resolve(reply.result);
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
