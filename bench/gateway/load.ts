import { interruption } from '../interruption.ts';
import type { Samples } from '../measure.ts';

/** A client with any transport. */
export interface Caller {
  request(method: string, params: Record<string, unknown>): Promise<unknown>;
}

interface Said {
  content?: { text?: string }[];
}

/** Calls a tool that must return its nonce, and throws for any other answer. Returns milliseconds. */
export async function callEcho(caller: Caller, tool: string, nonce: string): Promise<number> {
  const start = performance.now();
  const result = (await caller.request('tools/call', { name: tool, arguments: { nonce } })) as Said;
  const took = performance.now() - start;
  if (result.content?.[0]?.text !== nonce) throw new Error(`${tool} said ${JSON.stringify(result)}`);
  return took;
}

/** Makes this many calls, with a fixed number in flight, and returns the time of each. */
export async function load(
  caller: Caller,
  tool: string,
  { calls, inFlight }: { calls: number; inFlight: number },
): Promise<Samples> {
  interruption.throwIfAborted();
  const took: Samples = [];
  let begun = 0;
  const worker = async () => {
    while (begun < calls) took.push(await callEcho(caller, tool, `nonce ${++begun}`));
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return took;
}

/** Percentile by nearest rank, which is always a measured value. */
export const percentile = (samples: Samples, share: number): number =>
  samples.toSorted((a, b) => a - b)[Math.ceil(samples.length * share) - 1]!;
