import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { backOffMs } from '../base/back-off.ts';
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
  /** True if the hub accepted the handshake. Before that, a hub reads nothing else from a client. */
  isAccepted: boolean;
  version: string | null;
  /** True if the hub sent something after it accepted the handshake. */
  hasAnswered: boolean;
  /** Why the hub refused the handshake. Null if it did not. */
  refusal: RelayError | null;
  /** The hub's last line. Null when it was killed. */
  bye: Bye | null;
}

interface Opening {
  handshake: Handshake;
  home: string;
  handshakeMs: number;
  onWarning(text: string): void;
  /**
   * Called when the hub accepts the handshake. `started` lists the runs that lost calls may have started, if the
   * relay asked for them.
   */
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
    // The connection is over at the first of these events, so that no further line is sent to this hub.
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

/** Whether a line is the hub's last line. No MCP message begins in this way. */
const isBye = (bytes: Buffer) => bytes.subarray(0, 15).toString() === '{"squad":1,"bye';

export interface RelayOptions extends ConnectOptions {
  handshake: Handshake;
  /** Timeout for the hub's reply to the handshake. */
  handshakeMs?: number;
  input: NodeJS.ReadableStream;
  output: Writable;
  /** Called when no hub can be reached or started. The client's open requests are answered with the same error. */
  onError(error: RelayError): void;
  /** Called with warnings of the hub, each once. */
  onWarning?(text: string): void;
  /** Time after which the relay gives up on a client that cannot be served and sends nothing (default: no limit). */
  silentMs?: number;
  /** When aborted, the client is treated as gone. */
  stop?: AbortSignal;
  /**
   * Timeout for open requests to be answered after the client has closed its input, so that `printf … | squad mcp`
   * works.
   */
  lastRepliesMs?: number;
  /** Suggestion for a call whose hub was lost. */
  afterLoss?: string;
  /**
   * The client's calls end with it: the hub stops them, then closes the connection. If that hub was lost, the relay
   * starts the next hub even for a client that is gone, because the next hub stops the runs of those calls.
   */
  endsCalls?: boolean;
}

const LAST_REPLIES_MS = 5_000;
/** Time to wait for an announced newer hub. After that the relay starts a hub itself. */
const HANDOVER_MS = 5_000;
const MAX_FAILED_CONNECTS = 5;
/** Delay before the second attempt to connect. It doubles before each further attempt. */
const BACK_OFF_MS = { first: 20, max: 640 };

/**
 * Copies lines between a client's stdio and the hub. When the hub is lost, the relay finds or starts another one,
 * replays the MCP handshake and answers the calls that were in flight, so that the client never loses its server.
 * Resolves when the client is gone, with the last error, if any.
 */
export async function relay(options: RelayOptions): Promise<RelayError | null> {
  const { handshake, handshakeMs = HELLO_MS, input, output, onError, ...connection } = options;
  const { silentMs, endsCalls = false, stop, lastRepliesMs = LAST_REPLIES_MS } = options;
  const traffic = new Traffic(options.afterLoss);
  /**
   * Malformed lines that arrived while there was no hub. The replay does not contain them, but the hub has to answer
   * them too.
   */
  let waiting: Buffer[] = [];
  let hub: Socket | null = null;
  /** The hub that received the first pieces of a long line. No other hub can use the remaining pieces. */
  let pieceTaker: { hub: Socket | null } | null = null;
  let error: RelayError | null = null;
  let last: HubEnd | null = null;
  /** Number of hubs in a row that ended before they answered anything. */
  let failedConnects = 0;
  let launched: LaunchedHub | null = null;
  let hasSpoken = false;
  const warned = new Set<string>();
  /** True if runs of lost calls may still be running. */
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
  // Even if the client no longer reads, its calls have to end first.
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
      // A hub that was stopped, or cannot be started, is started again only when there is a request for it.
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
      // The hub closes the connection once a client has ended and every request was answered.
      if (!last || (last.isAccepted && client.hasEnded && !hasLost)) return;
      await settle(last);
      if (failedConnects > 0) await Promise.race([pause(backOffMs(failedConnects - 1, BACK_OFF_MS)), gone]);
    }
  }

  async function open(): Promise<Socket | Error> {
    // A hub hands over to a client of a later version, which starts the next hub.
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

  /** Each warning is shown once: every hub reads the same file and has the same warnings. */
  function onWarning(text: string): void {
    if (!warned.has(text)) options.onWarning?.(text);
    warned.add(text);
  }

  function goTo(next: Socket | null): void {
    hub = next;
    client.goesTo(next);
  }

  /**
   * Decides what follows the end of a connection. Nothing was lost if the hub did not accept the client or was idle:
   * the replay contains every request.
   */
  async function settle({ isAccepted, hasAnswered, refusal, bye }: HubEnd): Promise<void> {
    failedConnects = hasAnswered || bye ? 0 : failedConnects + 1;
    if (refusal) refuse(refusal);
    else if (failedConnects > MAX_FAILED_CONNECTS)
      refuse(((await launched?.exitError()) as (Error & RelayError) | null | undefined) ?? CLOSED);
    else if (isAccepted && !bye?.idle) {
      traffic.hubLost();
      // Otherwise the next hub names the runs that the lost calls started. A hub that was stopped on purpose is not
      // replaced only for that.
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
