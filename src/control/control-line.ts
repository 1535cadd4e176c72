import type { ControlReply, ControlRequest } from './serve-control.ts';

/** U+2028 and U+2029. JSON does not escape these characters, and Node's readline splits lines at them. */
const SEPARATORS = /[\u2028\u2029]/g;

export function controlLine(message: ControlRequest | ControlReply): string {
  const json = JSON.stringify(message).replace(
    SEPARATORS,
    separator => `\\u${separator.charCodeAt(0).toString(16)}`,
  );
  return `${json}\n`;
}
