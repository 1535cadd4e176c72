import type { IncomingMessage } from 'node:http';
import type { ErrorShape } from '../schema/error.ts';

type Status = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 426 | 500 | 502 | 503;

/** An error with its own HTTP status. Other errors get their status from their kind. */
export class HttpProblem extends Error {
  readonly status: Status;
  readonly code: string;
  readonly suggestions: string[];

  constructor(status: Status, code: string, message: string, suggestions: string[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.suggestions = suggestions;
  }
}

const BY_KIND = { usage: 400, state: 409, external: 502, database: 503, internal: 500 } as const;

export function statusOf({ code, kind }: Pick<ErrorShape, 'code' | 'kind'>): Status {
  if (code === 'NOT_ALLOWED') return 403;
  return kind === 'usage' && code.includes('UNKNOWN') ? 404 : BY_KIND[kind];
}

/** Turns anything thrown into the error body of the REST API. */
export function problemOf(
  thrown: unknown,
  errorOf: (thrown: unknown) => ErrorShape,
): { status: Status; body: { error: object } } {
  if (thrown instanceof HttpProblem) {
    const { status, code, message, suggestions } = thrown;
    return { status, body: { error: { code, kind: 'usage', message, suggestions, details: null } } };
  }
  const { suggestions = [], details = null, ...shape } = errorOf(thrown);
  return { status: statusOf(shape), body: { error: { ...shape, suggestions, details } } };
}

/** Reads the JSON object of a request; an empty body is `{}`. Reading stops at the limit, whatever Content-Length says. */
export async function readBody(request: IncomingMessage, most: number): Promise<Record<string, unknown>> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new HttpProblem(415, 'INVALID_INPUT', 'Send the body as Content-Type: application/json');
  const text = new TextDecoder().decode(await bytesOf(request, most));
  try {
    const body: unknown = text === '' ? {} : JSON.parse(text);
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    throw new HttpProblem(400, 'INVALID_INPUT', 'The request body is not JSON');
  }
  throw new HttpProblem(400, 'INVALID_INPUT', 'The request body is not a JSON object');
}

function bytesOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = () =>
    new HttpProblem(413, 'MESSAGE_TOO_LARGE', `The request body is larger than ${most} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.reject(tooLarge());
  return new Promise((settle, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= most) return void chunks.push(chunk);
      // The request is not destroyed, because the response still has to be sent on the same connection.
      request.off('data', take).pause();
      reject(tooLarge());
    };
    const cut = () => reject(new HttpProblem(400, 'INVALID_INPUT', 'The request body is incomplete'));
    request.on('data', take).once('end', () => settle(Buffer.concat(chunks)));
    request.once('error', cut).once('close', cut);
  });
}
