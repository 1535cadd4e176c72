import { UpstreamFault } from '../../wire/upstream/link.ts';
import type { Timers } from '../timers.ts';
import type { Connected } from './connect.ts';
import { withLastWords } from './last-words.ts';

export interface Opening {
  open(signal: AbortSignal): Promise<Connected>;
  /** Part of the start: what the server has is known before anybody calls it. */
  greet(link: Connected): Promise<void>;
  /** A link that came and cannot be used. */
  discard(link: Connected): void;
  stopped: AbortSignal;
  timeoutMs: number;
  timers: Timers;
}

/** A link that has been greeted, within the time for it. Rejects with why not, and then nothing of it stays. */
export async function openInTime({
  open,
  greet,
  discard,
  stopped,
  timeoutMs,
  timers,
}: Opening): Promise<Connected> {
  stopped.throwIfAborted();
  const late = new AbortController();
  const cancel = timers.after(timeoutMs, () =>
    late.abort(new UpstreamFault('timeout', `it was not ready within ${timeoutMs / 1000} s`)),
  );
  const signal = AbortSignal.any([stopped, late.signal]);
  let link: Connected | null = null;
  try {
    link = await open(signal);
    await Promise.race([greet(link), aborted(signal)]);
    return link;
  } catch (error) {
    if (link !== null) discard(link);
    // Of a link that did not come, its own fault says more, if it has noticed the same.
    const isSaid = link === null && error instanceof UpstreamFault && error.kind === 'timeout';
    const fault: unknown = late.signal.aborted && !isSaid ? late.signal.reason : error;
    throw link !== null && fault instanceof UpstreamFault ? withLastWords(fault, link.stderrTail()) : fault;
  } finally {
    cancel();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}
