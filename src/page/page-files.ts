import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative } from 'node:path';
import { contentPolicy } from './page-headers.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

const NOT_BUILT = 'The page is not part of this build of Squad. In its repository: npm run build\n';

/** The page itself. Only names found in its folder are served, so that no name given can lead out of it. */
export class PageFiles {
  private readonly folder: string;
  private names: Promise<ReadonlySet<string>> | null = null;

  constructor(folder: string) {
    this.folder = folder;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?', 1)[0]!.slice(1);
    const isView = extname(path) === '';
    // A page that is opened anew may be of a newer build, with other names.
    if (isView) this.names = null;
    this.names ??= namesIn(this.folder);
    const name = isView ? 'index.html' : path;
    const host = request.headers.host!;
    if (isView && !host.startsWith('127.0.0.1:')) return toOwnName(request, response, host);
    const headers = { 'content-security-policy': contentPolicy(host) };
    const content = (await this.names).has(name) ? await this.read(name) : null;
    if (content === null) {
      response.writeHead(404, { ...headers, 'content-type': 'text/plain; charset=utf-8' });
      response.end(isView ? NOT_BUILT : 'There is no such file\n');
      return;
    }
    response.writeHead(200, {
      ...headers,
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
      'content-length': content.length,
      // A name in `assets` has a hash of its content in it.
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
    });
    response.end(content);
  }

  /** Null: another build has just taken its place. */
  private read(name: string): Promise<Buffer | null> {
    return readFile(join(this.folder, name)).catch(() => null);
  }
}

/** At other names of ours somebody else may listen too: there the page would trust nobody, so it is not opened there. */
function toOwnName({ url }: IncomingMessage, response: ServerResponse, host: string): void {
  const port = host.slice(host.lastIndexOf(':') + 1);
  response.writeHead(307, { location: `http://127.0.0.1:${port}${url}`, 'content-length': 0 });
  response.end();
}

async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return new Set(
    found
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
  );
}
