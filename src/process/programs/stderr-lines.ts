import type { Readable } from 'node:stream';
import { createLineSplitter } from '../line-splitter.ts';

const LONGEST_LINE = 1024 * 1024;
/** What is looked at of one second's output; a program that says more is only listened to with half an ear. */
const MOST_PER_SECOND = 1024 * 1024;
/** Of what is too much, this is kept of its end, in however many pieces that came. */
const KEPT_END = 16 * 1024;

/**
 * Reads lines for as long as they come. The writer never has to wait for us, and a flood costs neither memory nor much
 * time: what is too much for one second is left out, but for the end of it, where the reason for a crash would stand.
 */
export function readStderr(
  stream: Readable,
  onLine: (line: string) => void,
  clock = () => performance.now(),
): void {
  const lines = createLineSplitter(LONGEST_LINE, onLine);
  let windowStart = clock();
  let taken = 0;
  let leftOut = 0;
  let end: Buffer | null = null;

  function catchUp(): void {
    if (!end) return;
    if (leftOut > 0) {
      // The line that was cut off, and the one that begins in the middle, are no lines: half a secret is not known for one.
      lines.tear();
      onLine(`[${leftOut} bytes left out]`);
    }
    lines.push(end);
    end = null;
    leftOut = 0;
  }

  stream.on('data', (chunk: Buffer) => {
    const now = clock();
    if (now - windowStart > 1000) {
      windowStart = now;
      taken = 0;
      catchUp();
    }
    taken += chunk.length;
    if (taken <= MOST_PER_SECOND) {
      lines.push(chunk);
      return;
    }
    const both = end && chunk.length < KEPT_END ? Buffer.concat([end, chunk]) : chunk;
    const kept = both.subarray(-KEPT_END);
    leftOut += (end?.length ?? 0) + chunk.length - kept.length;
    end = kept;
  });
  stream.on('end', () => {
    catchUp();
    lines.end();
  });
  stream.on('error', () => {});
}
