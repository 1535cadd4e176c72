import type { Socket } from 'node:net';
import { LineSplitter } from '../base/lines.ts';
import type { Bye, Challenge, Handshake, HandshakeReply } from '../link/handshake.ts';
import { noAnswer } from '../link/hub-record.ts';
import { Proof } from '../link/proof.ts';
import { LINES } from './client-end.ts';
import type { Trouble } from './traffic.ts';

/** How a conversation with a hub ended. */
export interface Parting {
  /** A hub takes nothing from a client it has not greeted. */
  greeted: boolean;
  /** Of the hub that greeted. */
  version: string | null;
  /** It said something after its greeting. */
  answered: boolean;
  /** It would not talk to us. */
  refusal: Trouble | null;
  /** It ended in order. */
  bye: Bye | null;
}

interface Opening {
  hello: Handshake;
  home: string;
  helloMs: number;
  onWarning(text: string): void;
  /** The hub has greeted us; `started`: runs that lost calls may have started, if it was asked. */
  onGreeting(started: string[] | undefined): void;
}

/** Says hello and hands over every line after the greeting, until the connection is over. */
export function converse(
  socket: Socket,
  { hello, home, helloMs, onWarning, onGreeting }: Opening,
  onLine: (bytes: Buffer, isWhole: boolean) => void,
): Promise<Parting> {
  const parting: Parting = { greeted: false, version: null, answered: false, refusal: null, bye: null };
  const proof = new Proof();
  const say = (bytes: Buffer, isWhole: boolean) => {
    parting.answered = true;
    onLine(bytes, isWhole);
  };
  const lines = new LineSplitter(LINES, {
    line(bytes) {
      clearTimeout(patience);
      if (!parting.greeted) Object.assign(parting, greeting(bytes, { proof, onWarning, onGreeting }));
      else if (isBye(bytes)) parting.bye = JSON.parse(bytes.toString());
      else say(bytes, true);
    },
    piece: bytes => say(bytes, false),
  });
  const patience = setTimeout(() => {
    parting.refusal = noAnswer(home);
    socket.destroy();
  }, helloMs);
  socket.write(`${JSON.stringify(hello)}\n`);
  socket.on('data', chunk => lines.push(chunk));
  return new Promise(settle => {
    // At the first sign, so that not a line more is given to it.
    const over = () => {
      clearTimeout(patience);
      proof.release();
      socket.destroy();
      settle(parting);
    };
    socket.on('end', over).on('error', over).on('close', over);
  });
}

function greeting(
  bytes: Buffer,
  { proof, onWarning, onGreeting }: Pick<Opening, 'onWarning' | 'onGreeting'> & { proof: Proof },
): Partial<Parting> {
  try {
    const reply = JSON.parse(bytes.toString()) as Challenge | HandshakeReply;
    if (proof.answers(reply) || !('ok' in reply)) return {};
    proof.release();
    if (!reply.ok) return { refusal: reply.error };
    reply.warnings?.forEach(onWarning);
    onGreeting(reply.started);
    return { greeted: true, version: reply.version };
  } catch {
    return { refusal: { code: 'HUB_UNREACHABLE', message: 'What answers on the socket is no hub of Squad' } };
  }
}

/** No message of the protocol begins like this. */
const isBye = (bytes: Buffer) => bytes.subarray(0, 15).toString() === '{"squad":1,"bye';
