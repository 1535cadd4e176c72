import type { Socket } from 'node:net';
import type { Bye, Hello, HelloReply } from '../link/hello.ts';
import { Lines } from './lines.ts';
import type { Trouble } from './traffic.ts';

/** How a conversation with a hub ended. */
export interface Parting {
  /** A hub takes nothing from a client it has not greeted. */
  greeted: boolean;
  /** It would not talk to us. */
  refusal: Trouble | null;
  /** It ended in order. */
  bye: Bye | null;
}

/** Says hello and hands over every line after the greeting, until the connection is over. */
export function converse(
  socket: Socket,
  hello: Hello,
  onLine: (bytes: Buffer, isWhole: boolean) => void,
): Promise<Parting> {
  const parting: Parting = { greeted: false, refusal: null, bye: null };
  const lines = new Lines({
    line(bytes) {
      if (!parting.greeted) Object.assign(parting, greeting(bytes));
      else if (isBye(bytes)) parting.bye = JSON.parse(bytes.toString());
      else onLine(bytes, true);
    },
    piece: bytes => onLine(bytes, false),
  });
  socket.write(`${JSON.stringify(hello)}\n`);
  socket.on('data', chunk => lines.push(chunk));
  return new Promise(settle => {
    // At the first sign, so that not a line more is given to it.
    const over = () => {
      socket.destroy();
      settle(parting);
    };
    socket.on('end', over).on('error', over).on('close', over);
  });
}

function greeting(bytes: Buffer): Partial<Parting> {
  try {
    const reply = JSON.parse(bytes.toString()) as HelloReply;
    return reply.ok ? { greeted: true } : { refusal: reply.error };
  } catch {
    return { refusal: { code: 'HUB_UNREACHABLE', message: 'What answers on the socket is no hub of Squad' } };
  }
}

/** No message of the protocol begins like this. */
const isBye = (bytes: Buffer) => bytes.subarray(0, 15).toString() === '{"squad":1,"bye';
