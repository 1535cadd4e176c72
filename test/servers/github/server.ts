/** A host that speaks GitHub's API, and git's own protocol for the same repositories, on loopback. */
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerApi } from './api.ts';
import { BareRepository } from './bare-repository.ts';
import { type Fault, misbehave } from './faults.ts';
import { serveGit } from './smart-http.ts';

export interface Pull {
  number: number;
  title: string;
  body: string;
  head: string;
  base: string;
  state: 'open' | 'closed';
}

export interface Issue {
  number: number;
  title: string;
  body: string;
  labels: string[];
}

export interface Seen {
  method: string;
  path: string;
  authorization: string | null;
  body: unknown;
}

export class GitHubServer implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-github-')));
  /** The one token that is good. */
  token = `ghp_${'Zt9'.repeat(12)}`;
  /** Of that token; null: a fine-grained one, which has none. */
  scopes: string[] | null = ['repo'];
  pulls: Pull[] = [];
  issues: Issue[] = [];
  /** Requests of the API, and of git. */
  readonly seen: Seen[] = [];
  readonly seenByGit: Seen[] = [];
  /** Faults, each for the first request that matches it. */
  readonly faults: Fault[] = [];
  readonly repositories = new Map<string, BareRepository>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      this.answer(request, response).catch(thrown => {
        response.writeHead(500, { 'content-type': 'text/plain' }).end(`The test's server broke: ${thrown}`);
      });
    });
  }

  static async start(): Promise<GitHubServer> {
    const github = new GitHubServer();
    github.server.listen(0, '127.0.0.1');
    await once(github.server, 'listening');
    return github;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Value of GITHUB_API_URL. */
  get apiUrl(): string {
    return `${this.origin}/api/v3`;
  }

  /** An empty repository, as somebody makes one on the host. */
  addRepository(owner: string, name: string): BareRepository {
    const repository = new BareRepository(
      join(this.folder, owner, `${name}.git`),
      `${this.origin}/${owner}/${name}.git`,
    );
    this.repositories.set(`${owner}/${name}`, repository);
    return repository;
  }

  nextNumber(): number {
    return this.pulls.length + this.issues.length + 1;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin);
    const { method = 'GET' } = request;
    const authorization = request.headers.authorization ?? null;
    const isGit = /^\/[^/]+\/[^/]+\.git\//.test(url.pathname);
    const body = isGit ? null : await jsonOf(request);
    (isGit ? this.seenByGit : this.seen).push({ method, path: url.pathname, authorization, body });
    const at = this.faults.findIndex(({ on }) => on.test(`${method} ${url.pathname}`));
    const [fault] = at < 0 ? [] : this.faults.splice(at, 1);
    if (fault && !(await misbehave(fault, response, this))) return;
    if (isGit) return serveGit(this, request, response, url);
    const answer = await answerApi(this, { method, url, authorization, body });
    response.writeHead(answer.status, {
      'content-type': 'application/json; charset=utf-8',
      ...answer.headers,
    });
    response.end(JSON.stringify(answer.data));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}
