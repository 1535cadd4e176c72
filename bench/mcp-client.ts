import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
};

interface Reply {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

export interface ToolReply {
  structuredContent: Record<string, unknown>;
  content: { text: string }[];
  isError?: boolean;
}

/** MCP client with little overhead: sends and reads lines without checks. */
export class McpClient {
  readonly startedAt = performance.now();
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly open = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  private readonly gone: Promise<unknown>;
  private lastId = 0;
  instructions = '';
  private text = '';

  constructor(command: string, args: string[], options: { cwd: string; env: Record<string, string> }) {
    this.child = spawn(command, args, { ...options, stdio: 'pipe' });
    this.gone = once(this.child, 'close');
    this.child.stdout.setEncoding('utf8').on('data', chunk => this.hear(chunk));
    let words = '';
    this.child.stderr.setEncoding('utf8').on('data', chunk => {
      words += chunk;
    });
    void this.gone.then(() => {
      for (const { reject } of this.open.values()) reject(new Error(`The server is gone. ${words}`));
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Milliseconds from the start of the process to the answer. */
  async initialize(): Promise<number> {
    const reply = (await this.request('initialize', INITIALIZE)) as { instructions?: string };
    this.instructions = reply.instructions ?? '';
    const took = performance.now() - this.startedAt;
    this.send({ method: 'notifications/initialized' });
    return took;
  }

  async tool(name: string, args: Record<string, unknown>): Promise<ToolReply> {
    const reply = (await this.request('tools/call', { name, arguments: args })) as ToolReply;
    if (reply.isError) throw new Error(`${name}: ${reply.content[0]?.text}`);
    return reply;
  }

  request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  async close(): Promise<void> {
    this.child.stdin.end();
    await this.gone;
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  private hear(chunk: string): void {
    this.text += chunk;
    const lines = this.text.split('\n');
    this.text = lines.pop()!;
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line) as Reply;
      if (id === undefined) continue;
      const open = this.open.get(id);
      this.open.delete(id);
      if (error) open?.reject(new Error(error.message));
      else open?.resolve(result);
    }
  }
}
