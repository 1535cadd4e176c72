import type { ErrorShape } from '../schema/error.ts';

export type Status = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 426 | 500 | 502 | 503;

/** A refusal that has a status of its own; the others get theirs from their kind. */
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

/** Anything thrown, as every client of the API gets it. */
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
