import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Json, Message } from './message.ts';

const MAX_FRAME_LENGTH = 8 * 1024 * 1024;
const MAX_DEPTH = 1_000;
/** No server of ours needs more to say what it has to; a flood does. */
const MAX_FRAMES = 200_000;

/** A client that keeps to the protocol, takes nothing else, and needs none of our code: what it sees is what a server does. */
export class StrictClient implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly messages: Message[] = [];
  stderr = '';
  private readonly exit: Promise<unknown>;
  private readonly pieces: Buffer[] = [];
  private held = 0;
  private frames = 0;
  private isOver = false;
  private lastId = 0;
  private wake = () => {};

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    this.child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'pipe' });
    this.exit = once(this.child, 'exit');
    this.child.stdin!.on('error', () => {}); // it may be gone; what it said before counts
    this.child.stdout!.on('data', (chunk: Buffer) => this.hear(chunk)).once('close', () => this.end());
    this.child.stderr!.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk).slice(-100_000);
    });
  }

  /** The answer, or null: something asked after it was answered first, or nothing more will come. */
  async ask(method: string, params: Json = {}): Promise<Message | null> {
    const id = this.request(method, params);
    const ping = this.request('ping');
    for (;;) {
      const answer = this.messages.find(message => message.id === id && message.method === undefined);
      if (answer || this.isOver || this.messages.some(message => message.id === ping)) return answer ?? null;
      await new Promise<void>(wake => {
        this.wake = wake;
      });
    }
  }

  async open(): Promise<boolean> {
    const handshake = await this.ask('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'strict', version: '1' },
    });
    if (!REVISIONS.includes((handshake?.result as Json)?.protocolVersion as string)) return false;
    this.notify('notifications/initialized');
    return true;
  }

  async tools(): Promise<Json[] | null> {
    const answer = await this.ask('tools/list');
    const { tools } = (answer?.result ?? {}) as { tools?: Json[] };
    return Array.isArray(tools) ? tools : null;
  }

  notify(method: string, params: Json = {}): void {
    this.write({ jsonrpc: '2.0', method, params });
  }

  private request(method: string, params: Json = {}): number {
    this.write({ jsonrpc: '2.0', id: ++this.lastId, method, params });
    return this.lastId;
  }

  private write(message: object): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  private hear(chunk: Buffer): void {
    if (this.isOver) return;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.pieces.push(chunk.subarray(from, at));
      this.take(Buffer.concat(this.pieces.splice(0)).toString());
      this.held = 0;
      from = at + 1;
    }
    this.pieces.push(chunk.subarray(from));
    this.held += chunk.length - from;
    if (this.held > MAX_FRAME_LENGTH || this.frames > MAX_FRAMES) this.end();
    else this.wake();
  }

  private take(line: string): void {
    this.frames++;
    if (line.length > MAX_FRAME_LENGTH || line.includes('['.repeat(MAX_DEPTH))) return;
    try {
      const message: unknown = JSON.parse(line);
      if (isMessage(message)) this.messages.push(message);
    } catch {
      // no protocol: not for us
    }
  }

  private end(): void {
    this.isOver = true;
    this.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }
}

const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { id, method, result, error } = value as Message;
  if (typeof method === 'string') return true;
  const isResult = typeof result === 'object' && result !== null && error === undefined;
  const isError = typeof (error as { code?: unknown })?.code === 'number';
  return id !== undefined && (isResult || isError);
}
