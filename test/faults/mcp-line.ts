import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { within } from './patience.ts';

interface Answer {
  id?: number;
  result?: { structuredContent?: Record<string, unknown>; isError?: boolean };
  error?: { message: string; data?: { code?: string } };
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'faults', version: '1' },
};

/** An MCP client reduced to lines, on a real `squad mcp`: it sees exactly what a client would. */
export class McpLine {
  readonly child: ChildProcess;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private readonly gone: Promise<unknown>;
  private words = '';
  private lastId = 0;

  constructor(args: string[], options: { cwd: string; env: Record<string, string> }) {
    this.child = spawn(process.execPath, args, { ...options, stdio: 'pipe' });
    this.gone = once(this.child, 'close').then(() => {
      const error = { message: `squad mcp ended: ${this.words}` };
      for (const settle of this.waiting.values()) settle({ error });
    });
    this.child.stdin!.on('error', () => {}); // it ended; 'close' says so
    this.child.stderr!.setEncoding('utf8').on('data', chunk => {
      this.words += chunk;
    });
    createInterface({ input: this.child.stdout! }).on('line', line => {
      const answer = JSON.parse(line) as Answer;
      if (answer.id !== undefined) this.waiting.get(answer.id)?.(answer);
    });
  }

  async initialize(): Promise<void> {
    const { error } = await this.request('initialize', INITIALIZE);
    if (error) throw new Error(error.message);
    this.send({ method: 'notifications/initialized' });
  }

  tool(name: string, args: object): Promise<Answer> {
    return this.request('tools/call', { name, arguments: args });
  }

  request(method: string, params: object): Promise<Answer> {
    const id = ++this.lastId;
    const answer = new Promise<Answer>(settle => this.waiting.set(id, settle));
    this.send({ id, method, params });
    return within(60_000, `${method} over MCP`, answer);
  }

  async close(): Promise<void> {
    this.child.stdin!.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    await this.gone;
    clearTimeout(timer);
  }

  private send(message: object): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
