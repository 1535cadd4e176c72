import { UpstreamFault } from './link.ts';

const INTERNAL_ERROR = -32603;

/** More than anything should have, from a server that is out of hand. */
export const tooLarge = (maxBytes: number): UpstreamFault =>
  new UpstreamFault('transport', `The server sent a message of more than ${maxBytes} bytes.`);

/** What one request was answered with is more than anybody could use. The server is well, and others may share it. */
export function answerTooLarge(maxBytes: number): UpstreamFault {
  const message = `The answer is too large: it has more than ${maxBytes} bytes. Ask for less at a time.`;
  return new UpstreamFault('answer', message, { error: { code: INTERNAL_ERROR, message } });
}
