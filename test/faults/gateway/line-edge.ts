import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  type AgentEdge,
  type Answer,
  type EdgeCall,
  HANG_MS,
  type Outcome,
  outcomeOf,
} from './agent-edge.ts';

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'faults', version: '1' },
};

/** An agent that speaks with `squad mcp`. */
export class LineEdge implements AgentEdge {
  private readonly child: ChildProcess;
  private readonly gone: Promise<unknown>;
  private readonly open = new Map<number, (answer: Answer) => void>();
  /** Taken back: an answer that was on its way may still come, once. */
  private readonly takenBack = new Set<number>();
  private readonly progress = new Map<number, (message: string) => void>();
  private lastId = 0;
  private unasked = 0;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdin!.on('error', () => {}); // it ended; 'close' says so
    child.stderr!.resume();
    this.gone = once(child, 'close').then(() => {
      for (const settle of this.open.values()) settle({ error: { code: 0, message: 'squad mcp ended' } });
      this.open.clear();
    });
    createInterface({ input: child.stdout! }).on('line', line => this.hear(JSON.parse(line) as Answer));
  }

  async initialize(): Promise<void> {
    const { answer } = this.ask('initialize', INITIALIZE);
    const { error } = await answer;
    if (error) throw new Error(error.message);
    this.send({ method: 'notifications/initialized' });
  }

  async tools(): Promise<string[] | null> {
    const { result } = await this.ask('tools/list', {}).answer;
    return result?.tools?.map(({ name }) => name) ?? null;
  }

  async call({ name, args, onProgress, signal }: EdgeCall): Promise<Outcome> {
    const token = this.lastId + 1;
    if (onProgress) this.progress.set(token, onProgress);
    const _meta = onProgress && { progressToken: token };
    const { id, answer } = this.ask('tools/call', { name, arguments: args, _meta });
    const timer = setTimeout(() => this.settle(id, { method: 'hung' }), HANG_MS);
    const takeBack = () => {
      if (!this.settle(id, { method: 'cancelled' })) return;
      this.takenBack.add(id);
      this.send({ method: 'notifications/cancelled', params: { requestId: id } });
    };
    signal?.addEventListener('abort', takeBack, { once: true });
    const answered = await answer;
    clearTimeout(timer);
    this.progress.delete(token);
    signal?.removeEventListener('abort', takeBack);
    if (answered.method === 'hung' || answered.method === 'cancelled') return { kind: answered.method };
    if (answered.error?.code === 0) return { kind: 'broken', text: answered.error.message };
    return outcomeOf(answered);
  }

  strays(): number {
    return this.unasked;
  }

  async close(): Promise<void> {
    this.child.stdin!.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.gone;
    clearTimeout(timer);
  }

  private ask(method: string, params: object): { id: number; answer: Promise<Answer> } {
    const id = ++this.lastId;
    const answer = new Promise<Answer>(settle => this.open.set(id, settle));
    if (this.child.exitCode !== null) this.settle(id, { error: { code: 0, message: 'squad mcp ended' } });
    this.send({ id, method, params });
    return { id, answer };
  }

  private hear(answer: Answer): void {
    const { id, method, params } = answer;
    if (method === 'notifications/progress') this.hearProgress(params!.progressToken!, params!.message ?? '');
    else if (method === undefined && !this.settle(id!, answer) && !this.takenBack.delete(id!)) this.unasked++;
  }

  private hearProgress(token: number, message: string): void {
    const hear = this.progress.get(token);
    if (hear) hear(message);
    else if (!this.takenBack.has(token)) this.unasked++;
  }

  private settle(id: number, answer: Answer): boolean {
    const settle = this.open.get(id);
    this.open.delete(id);
    settle?.(answer);
    return settle !== undefined;
  }

  private send(message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
