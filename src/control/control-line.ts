import type { ControlReply, ControlRequest } from './serve-control.ts';

/** Node's readline also cuts at these two, which JSON leaves as they are inside a string. */
const SEPARATORS = /[\u2028\u2029]/g;

export function controlLine(words: ControlRequest | ControlReply): string {
  const json = JSON.stringify(words).replace(
    SEPARATORS,
    separator => `\\u${separator.charCodeAt(0).toString(16)}`,
  );
  return `${json}\n`;
}
