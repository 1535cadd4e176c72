import type { CliContext } from '../context.ts';
import { milliseconds } from '../milliseconds.ts';
import { startAndWatch } from './start-and-watch.ts';

export interface RetryOptions {
  engine?: string;
  model?: string;
  timeout?: string;
  detach?: boolean;
}

/** `squad retry RUN`: the same request once more; of a squad, those that did not complete. */
export async function retryCommand(
  id: string,
  { engine, model, timeout, detach }: RetryOptions,
  context: CliContext,
): Promise<number> {
  const input = {
    id,
    engine,
    model,
    ...(timeout !== undefined && { timeoutMs: milliseconds('--timeout', timeout) }),
  };
  return startAndWatch({ operation: 'retry_runs', input, detach }, context);
}
