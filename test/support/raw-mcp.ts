import type { ChildProcess } from 'node:child_process';
import { ended, type Ran, type StartOptions, type TestSquad, until } from './squad.ts';

/** More than most tests have: an answer may take a whole chain of runs on a busy machine. */
const ANSWER_MS = 110_000;

export interface Message {
  jsonrpc: '2.0';
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown> & { structuredContent?: Record<string, unknown> };
  error?: { code: number; message: string; data?: { code: string; suggestions?: string[] } };
}

/** A client that writes lines by hand to a real `squad mcp`, and keeps every line it gets. */
export class RawMcp {
  readonly child: ChildProcess;
  readonly messages: Message[] = [];
  readonly ended: Promise<Ran>;
  private rest = '';
  private lastId = 0;

  constructor(squad: TestSquad, { args = [], ...options }: StartOptions & { args?: string[] } = {}) {
    this.child = squad.start(['mcp', ...args], options);
    this.ended = ended(this.child);
    this.child.stdin!.on('error', () => {}); // the relay may be gone; tests look at how it ended
    this.child.stdout!.on('data', (chunk: string) => this.hear(chunk));
  }

  /** The handshake of the older revisions. */
  static async legacy(squad: TestSquad, options?: StartOptions & { args?: string[] }): Promise<RawMcp> {
    const client = new RawMcp(squad, options);
    const reply = await client.ask('initialize', HANDSHAKE);
    if (!reply.result) throw new Error(`No handshake: ${JSON.stringify(reply)}`);
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  send(...messages: (object | string)[]): void {
    this.child.stdin!.write(
      messages.map(each => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join(''),
    );
  }

  request(method: string, params: object = {}): number {
    this.send({ jsonrpc: '2.0', id: ++this.lastId, method, params });
    return this.lastId;
  }

  call(name: string, args: object = {}, meta: object = {}): number {
    return this.request('tools/call', { name, arguments: args, _meta: meta });
  }

  ask(method: string, params: object = {}): Promise<Message> {
    return this.answer(this.request(method, params));
  }

  answer(id: number | string): Promise<Message> {
    return until(`request ${id} is answered`, () => this.answers(id)[0], ANSWER_MS);
  }

  answers(id: number | string | null): Message[] {
    return this.messages.filter(message => message.id === id && message.method === undefined);
  }

  notices(method: string): Message[] {
    return this.messages.filter(message => message.method === method);
  }

  /** Structured content of the result of a tool. */
  async told<T = Record<string, unknown>>(id: number): Promise<T> {
    const { result, error } = await this.answer(id);
    if (!result?.structuredContent) throw new Error(`No result: ${JSON.stringify(error ?? result)}`);
    return result.structuredContent as T;
  }

  async close(): Promise<Ran> {
    this.child.stdin!.end();
    return this.ended;
  }

  /** Only the protocol may be on standard output: anything else makes this throw. */
  private hear(chunk: string): void {
    const lines = (this.rest + chunk).split('\n');
    this.rest = lines.pop()!;
    this.messages.push(...lines.map(line => JSON.parse(line) as Message));
  }
}

export const HANDSHAKE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'by hand', version: '1' },
};

/** `_meta` fields of every request of the current revision. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
