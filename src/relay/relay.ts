import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type Handshake, isNewer } from '../link/handshake.ts';
import { HELLO_MS } from '../link/hub-record.ts';
import { type ConnectOptions, connectOrStart, knock, type LaunchedHub } from '../link/start-hub.ts';
import { ClientEnd } from './client-end.ts';
import { converse, type Parting } from './hub-end.ts';
import { Traffic, type Trouble } from './traffic.ts';

export interface RelayOptions extends ConnectOptions {
  hello: Handshake;
  /** How long a hub may take to answer it. */
  helloMs?: number;
  input: NodeJS.ReadableStream;
  output: Writable;
  /** No hub can be had just now, and why. The client is told too, if it waits for something. */
  onTrouble(trouble: Trouble): void;
  /** What a hub has to say about what it serves, each once. */
  onWarning?(text: string): void;
  /** A client that cannot be served and has said nothing for this long is not waited for; absent: it may say something later. */
  silentMs?: number;
  /** The client is to be taken for gone: it says nothing more, and need not read. */
  stop?: AbortSignal;
  /** After the client's last word, what it asked for gets this long to come out: `printf … | squad mcp` works. */
  lastRepliesMs?: number;
  /** What to do about a call whose hub was lost. */
  afterLoss?: string;
  /**
   * What the client asks for ends with it, and the hub says so and closes when that is gone. A hub that was lost before is
   * replaced also when the client is gone: the next one stops what calls began.
   */
  endsCalls?: boolean;
}

const LAST_REPLIES_MS = 5_000;
/** A newer hub that was promised and does not come: then one is started. */
const HANDOVER_MS = 5_000;
const MAX_FAILED_CONNECTS = 5;
/** Before the second try; twice as long before each further one. */
const BACK_OFF_MS = 20;

/**
 * Copies lines between a client's stdio and the hub. When the hub goes away it finds or starts another, replays the
 * handshake and answers what was in flight, so that a client keeps its server for as long as it likes. Settles when the
 * client is gone, with the trouble there was at the end, if any.
 */
export async function relay(options: RelayOptions): Promise<Trouble | null> {
  const { hello, helloMs = HELLO_MS, input, output, onTrouble, ...connection } = options;
  const { silentMs, endsCalls = false, stop, lastRepliesMs = LAST_REPLIES_MS } = options;
  const traffic = new Traffic(options.afterLoss);
  /** Lines that came while no hub was there and that the replay does not bring: malformed ones, which want an answer too. */
  let waiting: Buffer[] = [];
  let hub: Socket | null = null;
  /** Who got the beginning of a line that passes in pieces; its rest makes no sense to anyone else. */
  let pieceTaker: { hub: Socket | null } | null = null;
  let trouble: Trouble | null = null;
  let last: Parting | null = null;
  /** Hubs in a row that ended without having answered anything. */
  let closedDoors = 0;
  let launched: LaunchedHub | null = null;
  let hasSpoken = false;
  const warned = new Set<string>();
  /** What calls began may still be at work. */
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
  // Whether it reads or not, what it began is to end first.
  if (endsCalls) void client.broken.then(() => client.end());
  const gone = (endsCalls ? timeUp : Promise.race([client.broken, timeUp])).then(() => null);
  const stopped = new Promise<void>(settle =>
    stop?.addEventListener('abort', () => settle(), { once: true }),
  );
  void stopped.then(() => client.end());

  await copy();
  answerLost();
  await Promise.race([client.untilRead(), stopped, pause(LAST_REPLIES_MS)]);
  return trouble;

  async function copy(): Promise<void> {
    for (;;) {
      const isAsked = traffic.open > 0 || waiting.length > 0;
      if (client.hasEnded && !isAsked && !hasLost) return;
      // Nobody starts again what was just stopped or cannot be started, until there is something to ask of it.
      if (!isAsked && (trouble || last?.bye?.bye === 'stop')) {
        const isPatient = !trouble || hasSpoken || silentMs === undefined;
        await Promise.race([client.untilHeard(), ...(isPatient ? [] : [pause(silentMs)])]);
        if (!isPatient && !hasSpoken) return;
        continue;
      }
      const opened = await Promise.race([open(), gone]);
      if (opened instanceof Error) {
        refuse(opened as Error & Trouble);
        continue;
      }
      if (!opened) return;
      last = await Promise.race([talk(opened), gone]);
      goTo(null);
      if (last?.greeted) hasLost = endsCalls && !last.bye && traffic.hasCalled;
      // A hub closes when the client has ended: everything that could be answered was.
      if (!last || (last.greeted && client.hasEnded && !hasLost)) return;
      await settle(last);
      if (closedDoors > 0) await Promise.race([pause(BACK_OFF_MS * 2 ** (closedDoors - 1)), gone]);
    }
  }

  async function open(): Promise<Socket | Error> {
    // The hub that makes way does so for a later client, which starts the next one.
    const isHeir = isNewer(hello.version, last?.version ?? hello.version);
    const isAwaited = last?.bye?.bye === 'handover' && !isHeir;
    const successor = isAwaited ? await knock(connection.home, HANDOVER_MS) : null;
    return successor ?? connectOrStart({ ...connection, onLaunch }).catch((thrown: Error) => thrown);
  }

  function onLaunch(started: LaunchedHub): void {
    launched = started;
  }

  function talk(socket: Socket): Promise<Parting> {
    const { lostSince } = traffic;
    const opening = {
      hello: lostSince === null ? hello : { ...hello, lostSince },
      ...{ home: connection.home, helloMs, onWarning },
      onGreeting: (started?: string[]) => answerLost(started),
    };
    const over = converse(socket, opening, (bytes, isWhole) => {
      trouble = null;
      launched = null;
      if (!isWhole || traffic.fromHub(bytes)) client.write(bytes);
    });
    for (const line of [...traffic.replay(), ...waiting]) socket.write(line);
    waiting = [];
    goTo(socket);
    if (client.hasEnded) socket.end();
    return over;
  }

  /** The next hub reads the same file again. */
  function onWarning(text: string): void {
    if (!warned.has(text)) options.onWarning?.(text);
    warned.add(text);
  }

  function goTo(next: Socket | null): void {
    hub = next;
    client.goesTo(next);
  }

  /** Nothing was taken by a hub that did not greet, or that parted idle: there the replay brings everything. */
  async function settle({ greeted, answered, refusal, bye }: Parting): Promise<void> {
    closedDoors = answered || bye ? 0 : closedDoors + 1;
    if (refusal) refuse(refusal);
    else if (closedDoors > MAX_FAILED_CONNECTS)
      refuse(((await launched?.lastWords()) as (Error & Trouble) | null | undefined) ?? CLOSED);
    else if (greeted && !bye?.idle) {
      traffic.hubLost();
      // The next hub knows which runs they started. One that was stopped on purpose is not replaced only for that.
      if (options.afterLoss !== undefined || bye?.bye === 'stop') answerLost();
    }
  }

  function answerLost(started?: string[]): void {
    for (const answer of traffic.answerLost(started)) client.write(answer);
  }

  function refuse({ code = 'HUB_UNREACHABLE', kind, message, suggestions }: Trouble): void {
    trouble = { code, kind, message, suggestions };
    closedDoors = 0;
    hasLost = false;
    onTrouble(trouble);
    answerLost();
    for (const answer of traffic.refuse(trouble)) client.write(answer);
    waiting = [];
  }
}

const CLOSED: Trouble = {
  code: 'HUB_UNREACHABLE',
  message: 'The hub ends, or closes the connection, before it has answered anything',
  suggestions: ['`squad hub log` shows why.'],
};

const pause = (ms: number) => new Promise<void>(wake => setTimeout(wake, ms));
