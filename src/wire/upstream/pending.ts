import { type Json, type Progress, UpstreamFault } from './link.ts';
import { isObject } from './parse-json.ts';

/** A request that waits for its answer. */
export interface Pending {
  resolve(result: Json): void;
  reject(fault: UpstreamFault): void;
  /** None where it waits for as long as the link lasts. */
  timer: NodeJS.Timeout | undefined;
  timeoutMs: number;
  ceilingAt: number;
  onTime(): void;
  onProgress: ((update: Progress) => void) | undefined;
  stopListening(): void;
}

/** However much progress is made, a request ends after this long. */
export const CEILING_MS = 30 * 60_000;

/** Progress was made. */
export function extend(pending: Pending): void {
  const left = pending.ceilingAt - performance.now();
  if (left > pending.timeoutMs) {
    pending.timer?.refresh();
    return;
  }
  clearTimeout(pending.timer);
  pending.timer = setTimeout(pending.onTime, Math.max(left, 0));
}

export function settle(pending: Pending, { error, result }: Json): void {
  if (isObject(error)) pending.reject(answered(error));
  else if (isObject(result)) pending.resolve(result);
  else pending.reject(new UpstreamFault('transport', 'The server answered without a result.'));
}

function answered({ code, message, data }: Json): UpstreamFault {
  if (typeof code !== 'number' || typeof message !== 'string')
    return new UpstreamFault('transport', 'The server answered with an error that is none.');
  return new UpstreamFault('answer', message, {
    error: { code, message, ...(data !== undefined && { data }) },
  });
}
