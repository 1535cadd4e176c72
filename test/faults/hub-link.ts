import { createConnection, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ControlReply } from '../../src/control/serve-control.ts';
import { type Challenge, type Handshake, type HandshakeReply, Proof } from '../../src/link/handshake.ts';
import { within } from './patience.ts';

interface Open {
  resolve(result: unknown): void;
  reject(error: Error): void;
  onItem?(item: unknown): void;
}

const ANSWER_TIMEOUT_MS = 40_000;

/** A plain client on the hub's socket. It starts nothing and does not come back: what a dead hub does to it must show. */
export class HubLink {
  readonly pid: number;
  private readonly socket: Socket;
  private readonly open = new Map<number, Open>();
  private lastId = 0;

  private constructor(socket: Socket, pid: number) {
    this.socket = socket;
    this.pid = pid;
  }

  /** Null when no hub answers. */
  static connect(path: string, hello: Handshake): Promise<HubLink | null> {
    return new Promise(settle => {
      const socket = createConnection(path);
      let link: HubLink | null = null;
      const proof = new Proof();
      const lines = createInterface({ input: socket });
      lines.on('error', () => {}); // it repeats the socket's; 'close' follows
      lines.on('line', line => {
        if (link) return link.hear(JSON.parse(line) as ControlReply);
        const reply = JSON.parse(line) as Challenge | HandshakeReply;
        if (proof.answers(reply) || !('ok' in reply)) return;
        proof.release();
        if (!reply.ok) return void socket.destroy();
        link = new HubLink(socket, reply.pid);
        settle(link);
      });
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => {
        link?.drop();
        proof.release();
        settle(null);
      });
      socket.write(`${JSON.stringify(hello)}\n`);
    });
  }

  call<T>(
    operation: string,
    input: object = {},
    { waitMs, onItem }: { waitMs?: number; onItem?(item: unknown): void } = {},
  ): Promise<T> {
    const id = ++this.lastId;
    const answer = new Promise<T>((resolve, reject) => {
      if (this.socket.destroyed) return reject(new HubDied());
      this.open.set(id, { resolve: resolve as Open['resolve'], reject, onItem });
      this.socket.write(`${JSON.stringify({ id, operation, input, waitMs })}\n`);
    });
    return onItem ? answer : within(ANSWER_TIMEOUT_MS, operation, answer);
  }

  close(): void {
    this.socket.destroy();
  }

  private hear(reply: ControlReply): void {
    const open = this.open.get(reply.id);
    if (!open || 'progress' in reply) return;
    if ('item' in reply) {
      open.onItem?.(reply.item);
      return;
    }
    this.open.delete(reply.id);
    if ('result' in reply) open.resolve(reply.result);
    else open.reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }));
  }

  private drop(): void {
    for (const { reject } of this.open.values()) reject(new HubDied());
    this.open.clear();
  }
}

export class HubDied extends Error {
  constructor() {
    super('The hub is gone');
  }
}
