import type { Json } from './link.ts';

/** How messages get to a server. What comes back, and what went wrong, is told to the multiplexer. */
export interface Channel {
  /** Never rejects. Where it is known, settles when the server has taken the message. */
  send(message: Json): void | Promise<void>;
  /** Nobody waits for this request any more: the server is told in the way of the transport. */
  cancel(id: number, reason: string): void;
}

export const cancelNotice = (requestId: number, reason: string): Json => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId, reason },
});
