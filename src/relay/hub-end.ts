import type { Socket } from 'node:net';
import { LineSplitter } from '../base/lines.ts';
import type { Bye, Challenge, Handshake, HandshakeReply } from '../link/handshake.ts';
import { noAnswer } from '../link/hub-record.ts';
import { Proof } from '../link/proof.ts';
import { LINES } from './client-end.ts';
import type { RelayError } from './traffic.ts';

/** How a connection to a hub ended. */
export interface HubEnd {
  /** The hub accepted the handshake. Before that it takes nothing from a client. */
  isAccepted: boolean;
  /** Version of the hub that accepted. */
  version: string | null;
  /** The hub sent something after it accepted. */
  hasAnswered: boolean;
  /** Why the hub did not accept. */
  refusal: RelayError | null;
  /** The hub's last line; null when it was killed. */
  bye: Bye | null;
}

interface Opening {
  handshake: Handshake;
  home: string;
  handshakeMs: number;
  onWarning(text: string): void;
  /** `started`: runs that lost calls may have started, if the hub was asked for them. */
  onAccepted(started: string[] | undefined): void;
}

/** Sends the handshake and passes on every line after the hub's reply, until the connection ends. */
export function talkToHub(
  socket: Socket,
  { handshake, home, handshakeMs, onWarning, onAccepted }: Opening,
  onLine: (bytes: Buffer, isWhole: boolean) => void,
): Promise<HubEnd> {
  const end: HubEnd = { isAccepted: false, version: null, hasAnswered: false, refusal: null, bye: null };
  const proof = new Proof();
  const say = (bytes: Buffer, isWhole: boolean) => {
    end.hasAnswered = true;
    onLine(bytes, isWhole);
  };
  const lines = new LineSplitter(LINES, {
    line(bytes) {
      clearTimeout(timer);
      if (!end.isAccepted) Object.assign(end, replyIn(bytes, { proof, onWarning, onAccepted }));
      else if (isBye(bytes)) end.bye = JSON.parse(bytes.toString());
      else say(bytes, true);
    },
    piece: bytes => say(bytes, false),
  });
  const timer = setTimeout(() => {
    end.refusal = noAnswer(home);
    socket.destroy();
  }, handshakeMs);
  socket.write(`${JSON.stringify(handshake)}\n`);
  socket.on('data', chunk => lines.push(chunk));
  return new Promise(settle => {
    // At the first event, so that no further line is sent to this hub.
    const over = () => {
      clearTimeout(timer);
      proof.release();
      socket.destroy();
      settle(end);
    };
    socket.on('end', over).on('error', over).on('close', over);
  });
}

function replyIn(
  bytes: Buffer,
  { proof, onWarning, onAccepted }: Pick<Opening, 'onWarning' | 'onAccepted'> & { proof: Proof },
): Partial<HubEnd> {
  try {
    const reply = JSON.parse(bytes.toString()) as Challenge | HandshakeReply;
    if (proof.answers(reply) || !('ok' in reply)) return {};
    proof.release();
    if (!reply.ok) return { refusal: reply.error };
    reply.warnings?.forEach(onWarning);
    onAccepted(reply.started);
    return { isAccepted: true, version: reply.version };
  } catch {
    return {
      refusal: {
        code: 'HUB_UNREACHABLE',
        message: 'The program that answers on the socket is not a Squad hub',
      },
    };
  }
}

/** No MCP message begins like this. */
const isBye = (bytes: Buffer) => bytes.subarray(0, 15).toString() === '{"squad":1,"bye';
