import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { LineSplitter } from '../base/lines.ts';
import {
  type Bye,
  type Challenge,
  type Handshake,
  type HandshakeReply,
  isNewer,
  Proof,
} from '../link/handshake.ts';
import { HELLO_MS, noAnswer } from '../link/hub-record.ts';
import { type ConnectOptions, connectOrStart, knock, type LaunchedHub } from '../link/start-hub.ts';
import { ClientEnd, LINES } from './client-end.ts';
import { type RelayError, Traffic } from './traffic.ts';

/** How a connection to a hub ended. */
export interface HubEnd {
  /** The hub accepted the handshake. Before that it takes nothing from a client. */
  isAccepted: boolean;
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

export interface RelayOptions extends ConnectOptions {
  handshake: Handshake;
  /** How long a hub may take to reply to the handshake. */
  handshakeMs?: number;
  input: NodeJS.ReadableStream;
  output: Writable;
  /** Called when no hub can be reached or started. The client's open requests are answered with the same error. */
  onError(error: RelayError): void;
  /** Warnings of the hub about what it serves, each once. */
  onWarning?(text: string): void;
  /** Give up on a client that cannot be served and has sent nothing for this long (default: wait without limit). */
  silentMs?: number;
  /** Aborted: treat the client as gone. */
  stop?: AbortSignal;
  /** Time for open requests to be answered after the client has closed its input, so that `printf … | squad mcp` works. */
  lastRepliesMs?: number;
  /** Suggestion for a call whose hub was lost. */
  afterLoss?: string;
  /**
   * The client's calls end with it: the hub stops them, then closes the connection. If that hub was lost, the relay starts
   * the next one even for a client that is gone, because the next hub stops what those calls started.
   */
  endsCalls?: boolean;
}

const LAST_REPLIES_MS = 5_000;
/** If the newer hub that was announced does not come within this time, the relay starts one. */
const HANDOVER_MS = 5_000;
const MAX_FAILED_CONNECTS = 5;
/** Delay before the second connect; doubled before each further one. */
const BACK_OFF_MS = 20;

/**
 * Copies lines between a client's stdio and the hub. When the hub goes away, the relay finds or starts another one, replays
 * the MCP handshake and answers the calls that were in flight, so that the client never loses its server. Settles when the
 * client is gone, with the last error, if any.
 */
export async function relay(options: RelayOptions): Promise<RelayError | null> {
  const { handshake, handshakeMs = HELLO_MS, input, output, onError, ...connection } = options;
  const { silentMs, endsCalls = false, stop, lastRepliesMs = LAST_REPLIES_MS } = options;
  const traffic = new Traffic(options.afterLoss);
  /** Malformed lines that came while there was no hub: the replay does not have them, and the hub answers them too. */
  let waiting: Buffer[] = [];
  let hub: Socket | null = null;
  /** The hub that got the beginning of a line passed on in pieces; only that hub can use the rest. */
  let pieceTaker: { hub: Socket | null } | null = null;
  let error: RelayError | null = null;
  let last: HubEnd | null = null;
  /** Hubs in a row that ended before they answered anything. */
  let failedConnects = 0;
  let launched: LaunchedHub | null = null;
  let hasSpoken = false;
  const warned = new Set<string>();
  /** Runs that calls started may still be running. */
  let hasLost = false;

  const client = new ClientEnd(input, output, {
    line(line) {
      hasSpoken = true;
      const isKept = traffic.fromClient(line);
      if (hub) hub.write(line);
      else if (!isKept) waiting.push(line);
    },
    piece(bytes, isLast) {
      pieceTaker ??= { hub };
      if (hub && pieceTaker.hub === hub) hub.write(bytes);
      if (isLast) pieceTaker = null;
    },
  });
  const timeUp = client.untilEnded().then(() => {
    hub?.end();
    if (endsCalls) client.letGo();
    return pause(lastRepliesMs);
  });
  // Even if the client does not read: its calls have to end first.
  if (endsCalls) void client.broken.then(() => client.end());
  const gone = (endsCalls ? timeUp : Promise.race([client.broken, timeUp])).then(() => null);
  const stopped = new Promise<void>(settle =>
    stop?.addEventListener('abort', () => settle(), { once: true }),
  );
  void stopped.then(() => client.end());

  await copy();
  answerLost();
  await Promise.race([client.untilRead(), stopped, pause(LAST_REPLIES_MS)]);
  return error;

  async function copy(): Promise<void> {
    for (;;) {
      const isAsked = traffic.open > 0 || waiting.length > 0;
      if (client.hasEnded && !isAsked && !hasLost) return;
      // A hub that was stopped, or cannot be started, is started again only when there is something to ask it.
      if (!isAsked && (error || last?.bye?.bye === 'stop')) {
        const isPatient = !error || hasSpoken || silentMs === undefined;
        await Promise.race([client.untilInput(), ...(isPatient ? [] : [pause(silentMs)])]);
        if (!isPatient && !hasSpoken) return;
        continue;
      }
      const opened = await Promise.race([open(), gone]);
      if (opened instanceof Error) {
        refuse(opened as Error & RelayError);
        continue;
      }
      if (!opened) return;
      last = await Promise.race([talk(opened), gone]);
      goTo(null);
      if (last?.isAccepted) hasLost = endsCalls && !last.bye && traffic.hasCalled;
      // The hub closes the connection once a client has ended and everything was answered.
      if (!last || (last.isAccepted && client.hasEnded && !hasLost)) return;
      await settle(last);
      if (failedConnects > 0) await Promise.race([pause(BACK_OFF_MS * 2 ** (failedConnects - 1)), gone]);
    }
  }

  async function open(): Promise<Socket | Error> {
    // A hub makes way for a client of a later version, and that client starts the next hub.
    const isHeir = isNewer(handshake.version, last?.version ?? handshake.version);
    const isAwaited = last?.bye?.bye === 'handover' && !isHeir;
    const successor = isAwaited ? await knock(connection.home, HANDOVER_MS) : null;
    return successor ?? connectOrStart({ ...connection, onLaunch }).catch((thrown: Error) => thrown);
  }

  function onLaunch(started: LaunchedHub): void {
    launched = started;
  }

  function talk(socket: Socket): Promise<HubEnd> {
    const { lostSince } = traffic;
    const opening = {
      handshake: lostSince === null ? handshake : { ...handshake, lostSince },
      ...{ home: connection.home, handshakeMs, onWarning },
      onAccepted: (started?: string[]) => answerLost(started),
    };
    const over = talkToHub(socket, opening, (bytes, isWhole) => {
      error = null;
      launched = null;
      if (!isWhole || traffic.fromHub(bytes)) client.write(bytes);
    });
    for (const line of [...traffic.replay(), ...waiting]) socket.write(line);
    waiting = [];
    goTo(socket);
    if (client.hasEnded) socket.end();
    return over;
  }

  /** Each hub reads the same file and has the same warnings. */
  function onWarning(text: string): void {
    if (!warned.has(text)) options.onWarning?.(text);
    warned.add(text);
  }

  function goTo(next: Socket | null): void {
    hub = next;
    client.goesTo(next);
  }

  /** A hub that did not accept, or ended idle, has taken nothing: then the replay has everything. */
  async function settle({ isAccepted, hasAnswered, refusal, bye }: HubEnd): Promise<void> {
    failedConnects = hasAnswered || bye ? 0 : failedConnects + 1;
    if (refusal) refuse(refusal);
    else if (failedConnects > MAX_FAILED_CONNECTS)
      refuse(((await launched?.exitError()) as (Error & RelayError) | null | undefined) ?? CLOSED);
    else if (isAccepted && !bye?.idle) {
      traffic.hubLost();
      // The next hub knows which runs lost calls started. A hub that was stopped on purpose is not replaced only for that.
      if (options.afterLoss !== undefined || bye?.bye === 'stop') answerLost();
    }
  }

  function answerLost(started?: string[]): void {
    for (const answer of traffic.answerLost(started)) client.write(answer);
  }

  function refuse({ code = 'HUB_UNREACHABLE', kind, message, suggestions }: RelayError): void {
    error = { code, kind, message, suggestions };
    failedConnects = 0;
    hasLost = false;
    onError(error);
    answerLost();
    for (const answer of traffic.refuse(error)) client.write(answer);
    waiting = [];
  }
}

const CLOSED: RelayError = {
  code: 'HUB_UNREACHABLE',
  message: 'The hub closed the connection before it answered anything',
  suggestions: ['`squad hub log` shows why.'],
};

const pause = (ms: number) => new Promise<void>(wake => setTimeout(wake, ms));
