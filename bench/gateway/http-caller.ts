import { Agent, request } from 'node:http';
import type { Caller } from './load.ts';

const REVISION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A request of the current revision, which stands alone, and the headers it needs. */
export function modernRequest(id: number, token: string, method: string, params: Record<string, unknown>) {
  return {
    message: { jsonrpc: '2.0', id, method, params: { ...params, _meta: ENVELOPE } },
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    },
  };
}

/** A client over HTTP that costs as little as Node's own can: connections are kept, nothing is checked. */
export class HttpCaller implements Caller {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly url: URL;
  private readonly token: string;
  private lastId = 0;

  constructor(url: string, token: string) {
    this.url = new URL(url);
    this.token = token;
  }

  async request(method: string, params: Record<string, unknown>): Promise<unknown> {
    const answer = JSON.parse(await this.ask(method, params)) as { result?: unknown; error?: object };
    if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer)}`);
    return answer.result;
  }

  private ask(method: string, params: Record<string, unknown>): Promise<string> {
    const { message, headers } = modernRequest(++this.lastId, this.token, method, params);
    const { hostname, port, pathname: path } = this.url;
    return new Promise((resolve, reject) => {
      const asked = request(
        { agent: this.agent, hostname, port, path, method: 'POST', headers },
        response => {
          let text = '';
          response.setEncoding('utf8').on('data', chunk => {
            text += chunk;
          });
          response.on('end', () => resolve(text)).on('error', reject);
        },
      );
      asked.on('error', reject).end(JSON.stringify(message));
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
