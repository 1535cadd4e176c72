import type { Writable } from 'node:stream';

/** What is written in one turn of the event loop leaves together: handing bytes over costs more than making them. */
export function gatherWrites(output: Writable): void {
  if (output.writableCorked > 0) return;
  output.cork();
  setImmediate(() => output.uncork());
}
