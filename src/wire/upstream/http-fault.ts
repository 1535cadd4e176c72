import type { IncomingHttpHeaders } from 'node:http';
import { UpstreamFault } from './link.ts';

/** Nobody was reached, so nobody was asked. */
export class UnreachableFault extends UpstreamFault {
  constructor(message: string, cause?: unknown) {
    super('transport', message, { cause });
  }
}

/** An answer of HTTP and not of the server behind it. */
export class StatusFault extends UpstreamFault {
  readonly status: number;

  constructor(status: number, headers: IncomingHttpHeaders, now = Date.now()) {
    const retryAfterMs = retryAfter(headers['retry-after'], now);
    super(
      status === 401 || status === 403 ? 'unauthorized' : 'transport',
      status === 401 || status === 403
        ? `The server refused access (HTTP ${status}).`
        : `The server answered with HTTP ${status}.`,
      retryAfterMs === null ? {} : { retryAfterMs },
    );
    this.status = status;
  }

  /** It may well be different in a moment: nothing is learnt from it about what the server speaks. */
  get isPassing(): boolean {
    return [408, 425, 429, 502, 503, 504].includes(this.status);
  }
}

/** Seconds, or a date. */
function retryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const TLS_CODE = /CERT|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/;

/** What the system says when a connection cannot be made or breaks, without the address, which may hold secrets. */
export function networkFault(error: unknown, host: string): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isConnecting = syscall === 'connect' || syscall === 'getaddrinfo';
  if (code === 'EREFUSEDADDRESS') return new UnreachableFault(message, error);
  if (isConnecting || TLS_CODE.test(String(code)) || error instanceof AggregateError)
    return new UnreachableFault(`${host} cannot be reached (${code}).`, error);
  return new UpstreamFault('transport', `The connection to ${host} broke (${code ?? message}).`, {
    cause: error,
  });
}
