import { type FrameHead, FrameReader, frame } from '../base/frames.ts';
import { type PipedProgram, startPiped } from '../process/programs/piped-program.ts';
import type { Hello, OpName, Ops, TurnId } from '../runner/protocol.ts';
import { SquadError } from '../schema/error.ts';
import { type Answers, answerOf, firstLine } from './answers.ts';
import { setupProblem, sshFailure } from './bootstrap.ts';

/** ssh would wait forever for a host that accepts the connection and sends nothing. */
const HELLO_TIMEOUT_MS = 10_000;
const PING_MS = 2_000;
const PING_TIMEOUT_MS = 6_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Limit for the output of a shell profile before the handshake. */
const MAX_CHATTER = 64 * 1024;

/** Request id of pings. Nobody waits for their answers. */
const PING = 0;

interface Lease {
  turn: TurnId;
  ms: number;
  /** Time at which the lease has expired on the box at the latest. */
  endsAt: number;
}

interface AskOptions {
  body?: Buffer;
  maxBody?: number;
  signal?: AbortSignal;
  isOnce?: boolean;
}

interface Request {
  id: number;
  head: object;
  body: Buffer | undefined;
  op: OpName;
  /** Maximum length of the answer's body. */
  maxBody: number;
  /** True if the request is sent only over the current connection. */
  isOnce: boolean;
  resolve(answer: { answer: object; body: Buffer }): void;
  reject(error: Error): void;
}

export interface LinkPorts {
  /** The ssh command that starts the runner. */
  argv: readonly [string, ...string[]];
  env: Record<string, string>;
  cwd: string;
  /** Called once per connection, before any request is sent. Throws if the machine is not the expected one. */
  onHello(hello: Hello): void;
  /** Called with a request of an agent on the machine. Throws for any other message. */
  onCall(head: FrameHead, body: Buffer): void;
  /** Called when the state changes, with the reason of the last failure. */
  onState(state: 'up' | 'away', why: SquadError | null): void;
  /** Script for the shell on the machine, and the program that the script may request. */
  script: string;
  program: Buffer;
}

/**
 * Permanent connection to the runner of a machine. Requests are kept until they are answered, and are sent again over
 * the next connection, so that a broken connection only costs time.
 */
export class Link {
  private readonly ports: LinkPorts;
  private readonly waiting = new Map<number, Request>();
  private lastId = 0;
  private program: PipedProgram | null = null;
  private isUp = false;
  private isClosed = false;
  private pauseMs = FIRST_PAUSE_MS;
  private timer: NodeJS.Timeout | null = null;
  private attempt = Promise.withResolvers<SquadError | null>();
  hello: Hello | null = null;
  /** Boot clock of the box, as last reported by the box. */
  private boot = 0;
  private readonly leases = new Map<string, Lease>();
  /**
   * Milliseconds that the clock of the box is ahead of ours. 0 as long as no answer contradicts it, because a slow answer
   * looks like a clock that is behind.
   */
  clockAheadMs = 0;
  /** Time at which the first unanswered ping was sent, or at which the connection began if no ping was sent yet. */
  private askedAt = 0;

  constructor(ports: LinkPorts) {
    this.ports = ports;
    this.attempt.promise.catch(() => {});
    this.connect();
  }

  /** Resolves when the current attempt to connect has ended: with its error, or with null if it succeeded. */
  firstAttempt(): Promise<SquadError | null> {
    return this.isUp ? Promise.resolve(null) : this.attempt.promise;
  }

  get state(): 'up' | 'away' {
    return this.isUp ? 'up' : 'away';
  }

  /** Sends a request. Waits while the machine is away, unless the signal aborts. */
  async ask<N extends OpName>(
    op: N,
    ask: Ops[N]['ask'],
    { body, maxBody = 0, signal, isOnce = false }: AskOptions = {},
  ): Promise<{ answer: Answers[N]; body: Buffer }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ answer: object; body: Buffer }>();
    const id = ++this.lastId;
    const request = { id, head: { ...ask, id, op }, body, op, maxBody, isOnce, resolve, reject };
    if (this.isClosed) throw removed();
    signal?.throwIfAborted();
    this.waiting.set(id, request);
    const abort = () => {
      this.waiting.delete(id);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
    if (this.isUp) this.send(request);
    try {
      const given = await promise;
      return given as { answer: Answers[N]; body: Buffer };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Creates a lease for a turn and returns its end, in seconds of the box's boot clock. Every ping extends the lease
   * until `release` is called.
   */
  lease(turn: TurnId, ms: number): number {
    const key = keyOf(turn);
    const lease = this.leases.get(key) ?? { turn, ms, endsAt: 0 };
    this.leases.set(key, lease);
    return this.extend(lease);
  }

  /**
   * Time (of `performance.now()`) by which the lease has certainly expired on the box, even if the box got every
   * extension.
   */
  leaseEndsAt(turn: TurnId): number {
    return this.leases.get(keyOf(turn))?.endsAt ?? 0;
  }

  release(turn: TurnId): void {
    this.leases.delete(keyOf(turn));
  }

  /**
   * Extends a lease. On the box the lease ends before `endsAt`, because the box has read its clock before this
   * moment.
   */
  private extend(lease: Lease): number {
    lease.endsAt = performance.now() + lease.ms;
    return this.boot + lease.ms / 1000;
  }

  /** Sends a message that has no answer. The message is lost if there is no connection. */
  tell(head: object, body?: Buffer): void {
    if (this.isUp) this.program?.stdin.write(frame(head, body));
  }

  /** Connects now, without waiting for the end of the retry delay. */
  hurry(): void {
    if (this.isUp || this.isClosed || this.timer === null) return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** With `stopped` the hub is ending, and pending requests are dropped without an error. */
  close(why: 'removed' | 'stopped'): void {
    this.isClosed = true;
    this.isUp = false;
    if (this.timer) clearTimeout(this.timer);
    this.program?.kill();
    if (why === 'removed') {
      this.attempt.resolve(removed());
      for (const { reject } of this.waiting.values()) reject(removed());
    }
    this.waiting.clear();
  }

  private send({ head, body }: Request): void {
    this.program?.stdin.write(frame(head, body));
  }

  private connect(): void {
    this.timer = null;
    const { argv, env, cwd } = this.ports;
    const program = startPiped({ argv, env, cwd });
    this.program = program;
    this.askedAt = Date.now();
    program.stdin.write(this.ports.script);
    let failure: SquadError | null = null;
    const fail = (error: SquadError) => {
      failure ??= error;
      program.kill();
    };
    const late = setTimeout(
      () =>
        fail(
          new SquadError(
            'MACHINE_UNREACHABLE',
            `There was no handshake within ${HELLO_TIMEOUT_MS / 1000} s`,
            {
              suggestions: [
                'Something accepts the connection but is no Squad runner: try the ssh command yourself.',
              ],
            },
          ),
        ),
      HELLO_TIMEOUT_MS,
    );
    let pings: NodeJS.Timeout | null = null;
    const ping = () => {
      this.askedAt ||= Date.now();
      const leases = [...this.leases.values()].map(lease => ({ ...lease.turn, until: this.extend(lease) }));
      program.stdin.write(frame({ id: PING, op: 'ping', ...(leases.length > 0 && { leases }) }));
    };
    let lastWord = performance.now();
    const reader = new FrameReader((head, body) => this.onFrame(head, body));
    const send = () => {
      // The handshake timeout starts again, because sending the program may take longer on a slow connection.
      late.refresh();
      program.stdin.write(this.ports.program);
    };
    const readHandshake = handshake(send, hello => {
      clearTimeout(late);
      this.ports.onHello(hello);
      this.hello = hello;
      this.takeTimes(hello);
      this.isUp = true;
      this.pauseMs = FIRST_PAUSE_MS;
      for (const request of [...this.waiting.values()]) this.send(request);
      pings = setInterval(() => {
        if (performance.now() - lastWord > PING_TIMEOUT_MS) program.kill();
        else ping();
      }, PING_MS);
      this.attempt.resolve(null);
      this.ports.onState('up', null);
    });
    program.stdout.on('data', (chunk: Buffer) => {
      lastWord = performance.now();
      try {
        const rest = readHandshake(chunk);
        if (rest.length > 0) reader.push(rest);
      } catch (error) {
        fail(error instanceof SquadError ? error : badRunner((error as Error).message));
      }
    });
    void program.ended.then(code => {
      clearTimeout(late);
      if (pings) clearInterval(pings);
      if (this.program !== program || this.isClosed) return;
      this.isUp = false;
      const why = failure ?? sshFailure(program.said(), code);
      for (const request of this.waiting.values()) {
        if (!request.isOnce) continue;
        this.waiting.delete(request.id);
        request.reject(why);
      }
      this.attempt.resolve(why);
      this.attempt = Promise.withResolvers();
      this.timer = setTimeout(() => this.connect(), this.pauseMs);
      this.timer.unref();
      this.pauseMs = Math.min(this.pauseMs * 2, MAX_PAUSE_MS);
      this.ports.onState('away', why);
    });
  }

  /** Handles a frame of the box. An answer may arrive twice, so answers to unknown requests are dropped. */
  private onFrame({ id, ok, error, ...more }: FrameHead, body: Buffer): void {
    if (more.t !== undefined) {
      this.ports.onCall({ id, ...more }, body);
      return;
    }
    if (id === PING && ok !== undefined) this.takeTimes(answerOf('ping', ok));
    const request = this.waiting.get(id as number);
    if (!request) return;
    if (body.length > request.maxBody)
      throw new Error(`The answer to ${request.op} has ${body.length} bytes, which is more than allowed`);
    if (ok === undefined) {
      const { code, message } = answerOf('error', error);
      this.waiting.delete(request.id);
      request.reject(Object.assign(new Error(message), { code }));
      return;
    }
    const answer = answerOf(request.op, ok);
    this.waiting.delete(request.id);
    request.resolve({ answer, body });
  }

  /**
   * Stores the times that the box reported. The box read its clocks between our request and its answer, which limits
   * how far its clock can be ahead.
   */
  private takeTimes({ boot, now }: { boot: number; now: number }): void {
    this.boot = boot;
    const [least, most] = [now - Date.now(), now - this.askedAt];
    this.clockAheadMs = Math.max(least, Math.min(most, this.clockAheadMs));
    this.askedAt = 0;
  }
}

const keyOf = ({ runId, number }: TurnId): string => `${runId}/${number}`;

const removed = (): SquadError => new SquadError('MACHINE_UNKNOWN', 'The machine was removed');

const badRunner = (why: string): SquadError =>
  new SquadError('MACHINE_UNSUITABLE', `The runner sent something that is not in the protocol: ${why}`);

/** Parses the handshake, and returns the bytes after it. */
function handshake(send: () => void, onHello: (hello: Hello) => void): (chunk: Buffer) => Buffer {
  let before: Buffer | null = Buffer.alloc(0);
  return chunk => {
    if (before === null) return chunk;
    before = Buffer.concat([before, chunk]);
    for (let at = 0; ; ) {
      const end = before.indexOf(10, at);
      if (end < 0) break;
      const line = firstLine(before.toString('utf8', at, end));
      at = end + 1;
      if (line?.squad === 'problem') throw setupProblem(line.code);
      if (line?.squad === 'send') {
        before = before.subarray(at);
        at = 0;
        send();
      }
      if (line?.squad !== 'runner') continue;
      const rest = before.subarray(at);
      before = null;
      onHello(line);
      return rest;
    }
    if (before.length > MAX_CHATTER)
      throw new SquadError(
        'MACHINE_UNSUITABLE',
        `The login shell of the machine printed more than ${MAX_CHATTER / 1024} KiB before the handshake of the runner`,
        {
          suggestions: [
            'Make the shell profile on the machine print nothing in sessions without a terminal.',
          ],
        },
      );
    return Buffer.alloc(0);
  };
}
