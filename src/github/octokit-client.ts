/** The only file that uses Octokit; it is a separate bundle that is loaded at the first request to GitHub. */
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import { Octokit } from '@octokit/rest';
import type { HostedRepository } from '../core/ports/git-host.ts';

interface RequestOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

const MAX_BYTES = 16 * 1024 * 1024;
/** Variables that name the certificate of a self-hosted server. */
const CERTIFICATE_NAMES = ['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'SSL_CERT_FILE'];

/**
 * `fetch` with the proxy and certificates of a run's client, which the hub itself does not have. Does not follow
 * redirects.
 */
export function apiFetch(
  env: Record<string, string>,
): (url: string, options: RequestOptions) => Promise<Response> {
  return (url, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const isSecure = url.startsWith('https:');
    const agent = isSecure
      ? new HttpsAgent({ proxyEnv: env, ca: certificates(env) })
      : new HttpAgent({ proxyEnv: env });
    const failed = (error: Error) => reject(signal?.aborted ? signal.reason : error);
    const request = (isSecure ? httpsRequest : httpRequest)(
      url,
      { method, headers, agent, signal },
      answer => {
        readBody(answer).then(text => resolve(responseOf(answer, text)), failed);
      },
    );
    request.on('error', failed);
    request.end(body);
    return promise;
  };
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) throw new Error('the response is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function responseOf({ statusCode = 0, headers }: IncomingMessage, text: string): Response {
  const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  return new Response([204, 205, 304].includes(statusCode) ? null : text, {
    status: statusCode,
    headers: pairs,
  });
}

/**
 * Certificates for TLS. Undefined means Node's own certificates. If the file cannot be read, the TLS error of the
 * host shows what is wrong.
 */
function certificates(env: Record<string, string>): string[] | undefined {
  const file = CERTIFICATE_NAMES.map(name => env[name]).find(Boolean);
  if (!file) return undefined;
  try {
    return [...rootCertificates, readFileSync(file, 'utf8')];
  } catch {
    return undefined;
  }
}

interface ApiClientOptions {
  apiUrl: string;
  token: string;
  timeoutMs: number;
  /** Environment with proxies and certificates. */
  env: Record<string, string>;
}

type RepositoryName = Pick<HostedRepository, 'owner' | 'name'>;
export type ApiResult = { data: unknown } | ApiFailure;

export interface ApiFailure {
  failed: true;
  /** HTTP status. Null if there was no response. */
  status: number | null;
  /** Header names are in lower case. */
  headers: Record<string, string>;
  data: unknown;
  message: string;
}

export type ApiClient = ReturnType<typeof createApiClient>;

/** The API calls that Squad makes. Types of the library are not exposed. */
export function createApiClient({ apiUrl, token, timeoutMs, env }: ApiClientOptions) {
  const quiet = () => {};
  const octokit = new Octokit({
    auth: token,
    baseUrl: apiUrl,
    userAgent: 'squad-mcp',
    request: { fetch: apiFetch(env) },
    // The library's log would go to the console. Squad reports failures itself, once.
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  const request = () => ({ signal: AbortSignal.timeout(timeoutMs) });

  return {
    repository: ({ owner, name }: RepositoryName) =>
      resultOf(octokit.rest.repos.get({ owner, repo: name, request: request() })),
    openPulls: ({ owner, name }: RepositoryName, head: string) =>
      resultOf(
        octokit.rest.pulls.list({
          ...{ owner, repo: name, head: `${owner}:${head}` },
          ...{ state: 'open', per_page: 20, request: request() },
        }),
      ),
    createPull: (
      { owner, name }: RepositoryName,
      { title, body, head, base }: { title: string; body: string; head: string; base: string },
    ) =>
      resultOf(octokit.rest.pulls.create({ owner, repo: name, title, body, head, base, request: request() })),
    createIssue: (
      { owner, name }: RepositoryName,
      { title, body, labels }: { title: string; body: string; labels: string[] },
    ) => resultOf(octokit.rest.issues.create({ owner, repo: name, title, body, labels, request: request() })),
  };
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  data: unknown;
}

async function resultOf(call: Promise<Answer>): Promise<ApiResult> {
  try {
    const answer = await call;
    if (answer.status < 300) return { data: answer.data };
    return failure(answer, 'it has moved');
  } catch (thrown) {
    const { response, message } = thrown as { message?: string; response?: Answer };
    return failure(response, message ?? String(thrown));
  }
}

/** Without a response, the library makes up a status, which is ignored. */
const failure = (answer: Answer | undefined, message: string): ApiFailure => ({
  failed: true,
  status: answer?.status ?? null,
  headers: Object.fromEntries(
    Object.entries(answer?.headers ?? {}).map(([key, value]) => [key, String(value)]),
  ),
  data: answer?.data,
  message,
});
