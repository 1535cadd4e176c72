import { Agent, type IncomingMessage, request } from 'node:http';
import {
  type AgentEdge,
  type Answer,
  type EdgeCall,
  HANG_MS,
  type Outcome,
  outcomeOf,
} from './agent-edge.ts';

const REVISION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** An agent at the hub's port. Each request stands alone; to take one back is to hang up. */
export class HttpEdge implements AgentEdge {
  /** Node's client lets go of idle connections only if it has a time limit of its own; the hub's is longer than this one. */
  private readonly agent = new Agent({ keepAlive: true, timeout: 20_000 });
  private readonly url: string;
  private readonly token: string;
  private lastId = 0;
  private unasked = 0;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  async call({ name, args, onProgress, signal }: EdgeCall): Promise<Outcome> {
    const id = ++this.lastId;
    const meta = onProgress ? { progressToken: id } : {};
    const hangUp = AbortSignal.timeout(HANG_MS);
    const either = signal ? AbortSignal.any([signal, hangUp]) : hangUp;
    try {
      const messages = await this.ask(id, 'tools/call', { name, arguments: args }, meta, either);
      for (const { method, params } of messages)
        if (method === 'notifications/progress' && params?.progressToken === id)
          onProgress?.(params?.message ?? '');
        else if (method !== undefined) this.unasked++;
      const [answer, ...more] = messages.filter(({ method }) => method === undefined);
      if (!answer) return { kind: 'broken', text: 'the stream ended without an answer' };
      this.unasked += more.length + (answer.id === undefined && !answer.error ? 1 : 0);
      return outcomeOf(answer);
    } catch (error) {
      if (signal?.aborted) return { kind: 'cancelled' };
      return hangUp.aborted ? { kind: 'hung' } : { kind: 'broken', text: (error as Error).message };
    }
  }

  async tools(): Promise<string[] | null> {
    try {
      const [answer] = await this.ask(++this.lastId, 'tools/list', {}, {}, AbortSignal.timeout(HANG_MS));
      return answer?.result?.tools?.map(({ name }) => name) ?? null;
    } catch {
      return null; // nobody is there
    }
  }

  strays(): number {
    return this.unasked;
  }

  async close(): Promise<void> {
    this.agent.destroy();
  }

  private async ask(
    id: number,
    method: string,
    params: Record<string, unknown>,
    meta: object,
    signal: AbortSignal,
  ): Promise<Answer[]> {
    const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...ENVELOPE, ...meta } } };
    const headers = {
      authorization: `Bearer ${this.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent: this.agent, method: 'POST', headers, signal };
      request(this.url, options, resolve).on('error', reject).end(JSON.stringify(body));
    });
    const text = Buffer.concat(await response.toArray({ signal })).toString();
    const messages = response.headers['content-type']?.startsWith('text/event-stream')
      ? [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => JSON.parse(data!) as Answer)
      : [JSON.parse(text) as Answer];
    for (const answer of messages) if (answer.id !== undefined && answer.id !== id) this.unasked++;
    return messages;
  }
}
