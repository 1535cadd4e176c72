import { type Json, type LinkEvents, type LinkRequest, UpstreamFault } from '../../wire/upstream/link.ts';
import type { Connect, Connected, ConnectRequest } from '../upstream/connect.ts';

export interface Asked {
  method: string;
  params: Json;
  options: LinkRequest;
  server: MemoryServer;
}

type Answer = (asked: Asked) => Json | Promise<Json>;

/** An MCP server without a process. A test sets its answers, and it accepts any number of connections. */
export class MemoryServer {
  name = 'memory';
  tools: Json[] = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }];
  resources: Json[] = [];
  templates: Json[] = [];
  prompts: Json[] = [];
  capabilities: Json = { tools: {}, resources: {}, prompts: {}, completions: {} };
  /** Error that the next connection attempt gets. */
  fault: UpstreamFault | null = null;
  /** New connections wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  /** Promises that list requests wait for, by method. */
  readonly held = new Map<string, Promise<void>>();
  connects = 0;
  readonly requests: ConnectRequest[] = [];
  readonly live = new Set<MemoryLink>();
  listTools: Answer = ({ server }) => ({ tools: server.tools });
  answer: Answer = ({ params }) => ({
    content: [{ type: 'text', text: JSON.stringify(params.arguments ?? {}) }],
  });

  async connect(request: ConnectRequest): Promise<Connected> {
    this.connects += 1;
    this.requests.push(request);
    await this.gate;
    if (this.fault !== null) throw this.fault;
    const link = new MemoryLink(this, request.events);
    this.live.add(link);
    return link;
  }

  /** Closes all connections, as if the server's process had died. */
  die(message = 'The process ended with code 1.'): void {
    for (const link of [...this.live]) link.end(new UpstreamFault('exit', message));
  }

  say(method: string, params: Json = {}): void {
    for (const link of this.live) link.events.onNotification(method, params);
  }
}

class MemoryLink implements Connected {
  readonly era = 'legacy';
  readonly pid = null;
  readonly events: LinkEvents;
  readonly closed: Promise<UpstreamFault>;
  readonly #server: MemoryServer;
  readonly #over = Promise.withResolvers<UpstreamFault>();
  readonly #waiting = new Set<(fault: UpstreamFault) => void>();
  #fault: UpstreamFault | null = null;

  constructor(server: MemoryServer, events: LinkEvents) {
    this.#server = server;
    this.events = events;
    this.closed = this.#over.promise;
  }

  get server() {
    return { name: this.#server.name, version: '1' };
  }

  get capabilities(): Json {
    return this.#server.capabilities;
  }

  stderrTail = (): string => '';
  inFlight = (): number => this.#waiting.size;

  request(method: string, params: Json, options: LinkRequest): Promise<Json> {
    return new Promise((resolve, reject) => {
      if (this.#fault !== null) return reject(this.#fault);
      const fail = (fault: UpstreamFault) => {
        this.#waiting.delete(fail);
        reject(fault);
      };
      this.#waiting.add(fail);
      const cancel = () => fail(new UpstreamFault('cancelled', 'the caller cancelled the request'));
      options.signal?.addEventListener('abort', cancel, { once: true });
      if (options.signal?.aborted) return cancel();
      Promise.resolve(this.#answer({ method, params, options, server: this.#server })).then(result => {
        this.#waiting.delete(fail);
        options.signal?.removeEventListener('abort', cancel);
        resolve(result);
      }, fail);
    });
  }

  async close(): Promise<void> {
    this.end(new UpstreamFault('transport', 'The link was closed.'));
  }

  end(fault: UpstreamFault): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    this.#server.live.delete(this);
    for (const fail of [...this.#waiting]) fail(fault);
    this.#over.resolve(fault);
  }

  async #answer(asked: Asked): Promise<Json> {
    const { resources, templates, prompts, held } = this.#server;
    if (held.has(asked.method)) await held.get(asked.method);
    switch (asked.method) {
      case 'tools/list':
        return await this.#server.listTools(asked);
      case 'resources/list':
        return { resources };
      case 'resources/templates/list':
        return { resourceTemplates: templates };
      case 'prompts/list':
        return { prompts };
      default:
        return await this.#server.answer(asked);
    }
  }
}

/** Connects to the servers by their ids. */
export const connectTo =
  (servers: Record<string, MemoryServer>): Connect =>
  request =>
    servers[request.id]!.connect(request);

export const refusal = (code: number, message: string, data?: unknown): UpstreamFault =>
  new UpstreamFault('answer', message, { error: { code, message, data } });
