import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ControlReply, ControlRequest } from '../control/serve-control.ts';
import type { Hello, HelloReply } from '../link/hello.ts';
import { homeFolder, socketPath } from '../link/home.ts';
import { helloFor, hubProgram } from '../link/program.ts';
import { connect, connectOrStart } from '../link/start-hub.ts';
import { isErrorCode, SquadError } from '../schema/error.ts';

export interface CallOptions {
  waitMs?: number;
  onItem?(item: unknown): void;
  onProgress?(message: string): void;
}

interface Open extends CallOptions {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Thrown at every open call when the hub goes away; runs go on, so a reader may connect again and resume. */
export class HubGone extends SquadError {
  constructor() {
    super('HUB_RESTARTED', 'The hub went away', { suggestions: ['Runs go on. Ask again: `squad ls`.'] });
  }
}

/** The terminal's end of the hub's socket. */
export class HubClient {
  private readonly socket: Socket;
  private readonly open = new Map<number, Open>();
  private lastId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Connects, starting the hub if it is not there. */
  static async start(hello: Partial<Hello> = {}): Promise<HubClient> {
    const home = homeFolder(process.env);
    const socket = await connectOrStart({ home, env: process.env, program: hubProgram }).catch(thrown => {
      throw asHubError(thrown);
    });
    return HubClient.greet(socket, hello);
  }

  /** Connects to a hub that is there, or null. */
  static async find(hello: Partial<Hello> = {}): Promise<HubClient | null> {
    const socket = await connect(socketPath(homeFolder(process.env)));
    return socket && HubClient.greet(socket, hello);
  }

  private static greet(socket: Socket, hello: Partial<Hello>): Promise<HubClient> {
    const client = new HubClient(socket);
    return new Promise((resolve, reject) => {
      let greeted = false;
      const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY });
      lines.on('line', line => {
        if (greeted) return client.hear(JSON.parse(line) as ControlReply);
        greeted = true;
        const reply = JSON.parse(line) as HelloReply;
        if (reply.ok) resolve(client);
        else reject(asHubError(Object.assign(new Error(reply.error.message), reply.error)));
      });
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => {
        reject(new HubGone());
        client.drop();
      });
      socket.write(`${JSON.stringify({ ...helloFor('control'), ...hello })}\n`);
    });
  }

  call<T>(operation: string, input: unknown = {}, options: CallOptions = {}): Promise<T> {
    const request: ControlRequest = { id: ++this.lastId, operation, input, waitMs: options.waitMs };
    return new Promise<T>((resolve, reject) => {
      if (this.socket.destroyed) return reject(new HubGone());
      this.open.set(request.id, { ...options, resolve: resolve as Open['resolve'], reject });
      this.socket.write(`${JSON.stringify(request)}\n`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private hear(reply: ControlReply): void {
    const open = this.open.get(reply.id);
    if (!open) return;
    if ('item' in reply) return open.onItem?.(reply.item);
    if ('progress' in reply) return open.onProgress?.(reply.progress);
    this.open.delete(reply.id);
    if ('error' in reply) open.reject(SquadError.from(reply.error));
    else open.resolve(reply.result);
  }

  private drop(): void {
    for (const { reject } of this.open.values()) reject(new HubGone());
    this.open.clear();
  }
}

function asHubError(thrown: Error & { code?: unknown; suggestions?: string[] }): SquadError {
  const code = isErrorCode(thrown.code) ? thrown.code : 'HUB_UNREACHABLE';
  return new SquadError(code, thrown.message, { suggestions: thrown.suggestions, cause: thrown });
}
