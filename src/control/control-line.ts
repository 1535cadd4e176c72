import type { ControlReply, ControlRequest } from './serve-control.ts';

/** Node's readline also splits at these two characters, which JSON does not escape. */
const SEPARATORS = /[\u2028\u2029]/g;

export function controlLine(message: ControlRequest | ControlReply): string {
  const json = JSON.stringify(message).replace(
    SEPARATORS,
    separator => `\\u${separator.charCodeAt(0).toString(16)}`,
  );
  return `${json}\n`;
}
