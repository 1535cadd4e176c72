import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

const MAX_BYTES = 16 * 1024 * 1024;
/** Where people name the certificate of their own host. */
const CERTIFICATE_NAMES = ['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'SSL_CERT_FILE'];

/**
 * `fetch` for one run: by the proxy and the certificates of its client's environment, which the hub itself has not, and without
 * following a host to another place.
 */
export function apiFetch(env: Record<string, string>): (url: string, asked: Asked) => Promise<Response> {
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
        whole(answer).then(text => resolve(responseOf(answer, text)), failed);
      },
    );
    request.on('error', failed);
    request.end(body);
    return promise;
  };
}

async function whole(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) throw new Error('the answer is too large');
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

/** Undefined: those Node knows. A file that cannot be read is none; the host's certificate then says what is wrong. */
function certificates(env: Record<string, string>): string[] | undefined {
  const file = CERTIFICATE_NAMES.map(name => env[name]).find(Boolean);
  if (!file) return undefined;
  try {
    return [...rootCertificates, readFileSync(file, 'utf8')];
  } catch {
    return undefined;
  }
}
