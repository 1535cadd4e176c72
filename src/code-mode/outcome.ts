import type { CodeModeLimits } from '../schema/model-spec.ts';
import { cutText } from './capped-text.ts';
import type { CodeResult } from './code-mode.ts';
import type { GuestMessage } from './messages.ts';

/** How a program ended, in words for the model that wrote it. */
export type Outcome = Pick<CodeResult, 'ok' | 'returned' | 'error'>;

const LONGEST_ERROR = 20_000;

/** What may be printed before a program is ended: more than is kept, so that a chatty one can still come to its end. */
export const mostPrinted = ({ outputChars }: CodeModeLimits): number => 1024 * 1024 + 4 * outputChars;

export function done(
  { returned, omitted = 0, rejections }: GuestMessage & { type: 'done' },
  limits: CodeModeLimits,
): Outcome {
  const value =
    returned === undefined ? null : cutText(returned, limits.outputChars, returned.length + omitted);
  if (rejections.length === 0) return { ok: true, returned: value, error: null };
  return {
    ...failed(rejections.map(each => `A promise failed and nobody caught it. ${each}`).join('\n')),
    returned: value,
  };
}

export const failed = (error: string): Outcome => ({
  ok: false,
  returned: null,
  error: cutText(error, LONGEST_ERROR),
});

/** Only a guest that a program has taken over says such things. */
export const broken = (): Outcome =>
  failed('The sandbox was ended: it said something that no program can say.');

export function limited(
  limit: 'time' | 'memory' | 'output',
  limits: CodeModeLimits,
  inFlight: string[],
): Outcome {
  const what = {
    time: `it was not done after ${limits.timeoutMs / 1000} s`,
    memory: `it took more than ${limits.memoryMb} MB of memory`,
    output: `it printed more than ${mostPrinted(limits)} characters`,
  }[limit];
  const cancelled = inFlight.length === 0 ? '' : ` Cancelled with it: ${counted(inFlight)}.`;
  return failed(`The program was ended: ${what}.${cancelled}`);
}

export function vanished(
  { code, signal, failure }: { code: number | null; signal: string | null; failure: Error | null },
  complaint: string,
  limits: CodeModeLimits,
): Outcome {
  if (/out of memory|allocation failed|bad_alloc/i.test(complaint)) return limited('memory', limits, []);
  const how = failure?.message ?? (signal ? `by ${signal}` : `with code ${code}`);
  const words = complaint.trim().split('\n')[0]?.slice(0, 500);
  return failed(`The sandbox ended by itself, ${how}${words ? `: ${words}` : '.'}`);
}

export const notAwaited = (names: string[]): string =>
  `[The program returned without waiting for ${counted(names)}: cancelled, and may have taken effect or not]\n`;

/** `read (3), write`. */
function counted(names: string[]): string {
  const each = [...Map.groupBy(names, name => name)];
  return each.map(([name, of]) => (of.length > 1 ? `${name} (${of.length})` : name)).join(', ');
}
