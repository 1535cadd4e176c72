import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';

type Id = string | number | null | undefined;

export interface Frame {
  id?: Id;
  method?: string;
  error?: { code: number };
  params?: { progressToken?: Id; _meta?: Record<string, unknown> };
}

interface Waiting {
  frame: Frame;
  response: ServerResponse;
}

/** One process, and the HTTP responses that wait for its messages. */
export class StdioServer {
  private readonly child: ChildProcess;
  private readonly inSession: boolean;
  private readonly waiting = new Map<Id, Waiting>();
  private listener: ServerResponse | null = null;

  constructor(child: ChildProcess, { inSession }: { inSession: boolean }) {
    this.child = child;
    this.inSession = inSession;
    child.stdin!.on('error', () => {}); // the child is gone; `close` below ends the waiting responses
    child.once('close', () => {
      for (const { response } of this.waiting.values()) response.destroy();
    });
    createInterface({ input: child.stdout! }).on('line', line => this.hear(line, JSON.parse(line) as Frame));
  }

  waitsFor = (id: Id): boolean => this.waiting.has(id);

  take(line: string, frame: Frame, response: ServerResponse): void {
    this.child.stdin!.write(`${line}\n`);
    if (frame.id === undefined || frame.method === undefined) {
      response.writeHead(202).end();
      return;
    }
    this.waiting.set(frame.id, { frame, response });
    // Without a session, closing the response cancels the request; the process needs a message for that.
    response.once('close', () => {
      if (this.waiting.delete(frame.id) && !this.inSession) this.cancel(frame.id);
    });
  }

  /** Sends messages that belong to no request to this response. */
  listen(response: ServerResponse): void {
    this.listener = response;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }

  async close(): Promise<void> {
    this.listener?.end();
    const gone = this.child.exitCode === null ? once(this.child, 'close') : null;
    this.child.stdin!.end();
    await gone;
  }

  private hear(line: string, frame: Frame): void {
    if (frame.method === undefined) {
      const asked = this.waiting.get(frame.id);
      this.waiting.delete(frame.id);
      if (asked) this.answer(line, frame, asked.response);
      return;
    }
    const response = this.askerOf(frame)?.response ?? this.listener;
    if (!response) return;
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${line}\n\n`);
  }

  private askerOf({ params }: Frame): Waiting | undefined {
    const subscription = params?._meta?.['io.modelcontextprotocol/subscriptionId'];
    const all = [...this.waiting.values()];
    if (subscription !== undefined) return all.find(({ frame }) => String(frame.id) === String(subscription));
    if (params?.progressToken !== undefined)
      return all.find(({ frame }) => frame.params?._meta?.progressToken === params.progressToken);
    return all.length === 1 ? all[0] : undefined;
  }

  private cancel(requestId: Id): void {
    const frame = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
    this.child.stdin!.write(`${JSON.stringify(frame)}\n`);
  }

  private answer(line: string, { error }: Frame, response: ServerResponse): void {
    if (response.headersSent) response.end(`data: ${line}\n\n`);
    else response.writeHead(this.statusOf(error), { 'content-type': 'application/json' }).end(line);
  }

  /** HTTP status of an error; legacy sessions always use 200. */
  private statusOf(error: Frame['error']): number {
    if (!error || this.inSession) return 200;
    return error.code === NO_SUCH_METHOD ? 404 : 400;
  }
}

const NO_SUCH_METHOD = -32601;
