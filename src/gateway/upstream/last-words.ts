import { stderrExcerpt } from '../../process/turns/stderr-excerpt.ts';
import { UpstreamFault } from '../../wire/upstream/link.ts';

const MOST = 400;

/** The fault with the last a server wrote to its log, where mostly stands why. One line, and not too long. */
export function withLastWords(fault: UpstreamFault, tail: string): UpstreamFault {
  const words = lastWords(tail);
  if (words === '' || fault.kind === 'cancelled' || fault.kind === 'answer') return fault;
  const { kind, message, error, retryAfterMs, cause } = fault;
  return new UpstreamFault(kind, `${message.replace(/(?<![.!?])$/, '.')} It last wrote: ${words}`, {
    ...(error && { error }),
    ...(retryAfterMs !== null && { retryAfterMs }),
    cause,
  });
}

const MAX_LINES = 6;

function lastWords(tail: string): string {
  const line = stderrExcerpt(tail, MAX_LINES).join(' ').replace(/\s+/g, ' ').trim();
  return line.length > MOST ? `…${line.slice(-MOST).toWellFormed()}` : line;
}
