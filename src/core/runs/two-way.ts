import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Run } from '../../schema/run.ts';
import type { Driver, DriverEvent, EngineAnswer, EngineAsk } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Change, Store } from '../ports/store.ts';
import type { LiveTurn, TurnRef } from '../ports/turns.ts';

/** File in the turn's folder with all lines for the agent. The wrapper passes them to the agent's standard input. */
const INPUT = 'input';
/** Interval at which the hub closes the input again while the agent has not exited. */
const END_AGAIN_MS = 5_000;
/** Time for an agent that has finished its work to exit. Agents need less than a second, on a busy machine several. */
const EXIT_TIMEOUT_MS = 30_000;
/** The same for agents that are known not to exit by themselves. */
const SHORT_EXIT_TIMEOUT_MS = 500;
const STOP_GRACE_MS = 3_000;

export interface TwoWayPorts {
  clock: Pick<Clock, 'now'>;
  store: Pick<Store, 'commit' | 'lastSentLine'>;
  files: Pick<RunFiles, 'read' | 'write' | 'writeAt'>;
  /** Called between the steps of a write, with the name of the step. Tests kill the hub at these points. */
  checkpoint(name: string): void;
  /** Repeats a failed write until it succeeds or the hub ends. */
  retry(what: string, act: () => Promise<void>): Promise<void>;
  /** Passes a question of the engine to the user, and calls `answer` with the user's reply. */
  onAsk(run: Run, ask: EngineAsk, turn: TwoWayTurn): void;
  warn(message: string, cause: unknown): void;
}

/**
 * A turn whose agent reads lines while it works. Its state follows from the lines that were written and the lines that
 * the agent printed. Each line is stored with its offset in the input file before it is written to the file. The next
 * hub can therefore complete an interrupted write, of which the agent may already have read a part.
 */
export class TwoWayTurn {
  private readonly driver: Driver;
  private readonly run: Run;
  private readonly turn: TurnRef;
  private readonly ports: TwoWayPorts;
  /** Byte offset at which the next line is written. */
  private offset: number;
  private writing: Promise<unknown> = Promise.resolve();
  /** True if the agent can get no more input. */
  private isClosed: boolean;
  private readonly over = new AbortController();
  /** Resolved when the agent can get messages. */
  private readonly ready = Promise.withResolvers<void>();
  /** Unanswered questions of the agent, by id. */
  private readonly asks = new Map<string, AbortController>();

  private constructor(driver: Driver, run: Run, turn: TurnRef, input: string, ports: TwoWayPorts) {
    this.driver = driver;
    this.run = run;
    this.turn = turn;
    this.ports = ports;
    this.offset = Buffer.byteLength(input);
    // An incomplete last line means that the database lost rows. The next line would be appended to that line, so the
    // agent gets no more input.
    this.isClosed = !input.endsWith('\n');
    for (const line of input.split('\n').slice(0, -1)) driver.sent(line);
    if (driver.isReady) this.ready.resolve();
  }

  /** Writes the first lines of a turn that is about to start. */
  static async begin(driver: Driver, run: Run, turn: TurnRef, ports: TwoWayPorts): Promise<TwoWayTurn> {
    // The previous hub stored a message while it started this turn. The agent has not started, so it reads the message
    // after its prompt.
    if (await ports.store.lastSentLine(turn)) return (await TwoWayTurn.resume(driver, run, turn, ports))!;
    const input = driver
      .open()
      .map(line => `${line}\n`)
      .join('');
    await ports.files.write(turn, INPUT, input);
    return new TwoWayTurn(driver, run, turn, input, ports);
  }

  /** Takes over a turn that an earlier hub started. Null if the turn is not fed. */
  static async resume(
    driver: Driver,
    run: Run,
    turn: TurnRef,
    ports: TwoWayPorts,
  ): Promise<TwoWayTurn | null> {
    const { files, store } = ports;
    if ((await files.read(turn, INPUT)) === null) return null;
    const last = await store.lastSentLine(turn);
    if (last) await files.writeAt(turn, INPUT, last.offset, `${last.line}\n`);
    return new TwoWayTurn(driver, run, turn, (await files.read(turn, INPUT)) ?? '', ports);
  }

  /** Processes one line of the agent's output. Call this once for every line, from the first line on. */
  read(line: string, isCut: boolean, process: LiveTurn | null): void {
    for (const event of isCut ? this.driver.tooLong(line) : this.driver.read(line)) this.take(event);
    if (this.driver.isReady) this.ready.resolve();
    if (process && this.isIdle) void this.endInput(process);
  }

  /** True if the agent has finished all its work, and waits for more input or its end. */
  get isIdle(): boolean {
    return this.driver.isIdle && this.asks.size === 0;
  }

  private take(event: DriverEvent): void {
    if (event.type === 'asked') this.open(event.ask);
    else if (event.type === 'withdrawn') this.forget(event.id);
    else this.send(event.lines).catch(thrown => this.ports.warn(NOT_SENT, thrown));
  }

  private open(ask: EngineAsk): void {
    if (this.asks.has(ask.id)) return;
    this.asks.set(ask.id, new AbortController());
    this.ports.onAsk(this.run, ask, this);
  }

  private forget(id: string): void {
    this.asks.get(id)?.abort();
    this.asks.delete(id);
  }

  /**
   * Returns a signal that aborts when nobody waits for the answer any more: the agent withdrew its question, or the
   * turn has ended.
   */
  untilGone(id: string): AbortSignal {
    const withdrawn = this.asks.get(id)?.signal ?? AbortSignal.abort();
    return AbortSignal.any([withdrawn, this.over.signal]);
  }

  /** Answers a question of the agent, once. Returns false if nobody waits for the answer any more. */
  async answer(ask: EngineAsk, answer: EngineAnswer): Promise<boolean> {
    if (this.untilGone(ask.id).aborted) return false;
    const isSent = this.send(this.driver.answer(ask, answer));
    this.asks.delete(ask.id);
    return isSent;
  }

  /**
   * Sends the agent a message. Returns false if the agent takes no more input. `along` is committed in the same
   * transaction as the message.
   */
  async say(id: string, text: string, along: Change, interrupts: boolean): Promise<boolean> {
    await this.untilReady();
    if (!this.driver.isReady || this.isClosed) return false;
    if (interrupts) this.interrupt().catch(thrown => this.ports.warn(NOT_SENT, thrown));
    const lines = this.driver.say(id, text);
    return lines !== null && this.send(lines, along);
  }

  /** True if the agent can get messages. */
  get isReady(): boolean {
    return this.driver.isReady;
  }

  /** Waits while the agent starts, but not long for one that hangs. */
  async untilReady(): Promise<void> {
    if (this.driver.isReady) return;
    const { signal } = this.over;
    const tooLong = delay(READY_TIMEOUT_MS, null, { signal, ref: false }).catch(() => {}); // the turn has ended
    await Promise.race([this.ready.promise, tooLong]);
  }

  /** Interrupts the agent's current work. Returns false if the agent takes no more input. */
  async interrupt(): Promise<boolean> {
    const lines = this.driver.interrupt(randomUUID());
    return lines.length > 0 && this.send(lines);
  }

  /** False until the agent may have got its prompt. */
  get hasBegun(): boolean {
    return this.driver.hasBegun;
  }

  /** True if the agent has read this message. */
  hasTaken(id: string): boolean {
    return !this.driver.waiting.has(id);
  }

  /**
   * Stores lines, with `along` in the same transaction, and then writes them to the input file. Returns false if the
   * agent takes no more input.
   */
  private async send(lines: string[], along: Change = { events: [] }): Promise<boolean> {
    if (this.isClosed) return false;
    for (const line of lines) this.driver.sent(line);
    const line = lines.join('\n');
    const { clock, store, files, checkpoint, retry } = this.ports;
    const { runId, number } = this.turn;
    const { offset } = this;
    this.offset += Buffer.byteLength(line) + 1;
    const write = async () => {
      const row = { runId, turn: number, offset, line, at: clock.now() };
      await retry('a line for an agent', () => store.commit({ ...along, lines: [row] }));
      checkpoint('line:stored');
      await retry('a line for an agent', () => files.writeAt(this.turn, INPUT, offset, `${line}\n`));
      checkpoint('line:written');
    };
    const written = this.writing.then(write);
    // A failed write also stops all later writes, because their lines would leave a hole in the file. The next hub
    // completes the failed write.
    this.writing = written;
    await written;
    return true;
  }

  /** Closes the input of an agent that has finished all its work, so that the agent exits. Stops one that does not. */
  private async endInput(process: LiveTurn): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    const { signal } = this.over;
    const timeoutMs = this.driver.staysOpen === true ? SHORT_EXIT_TIMEOUT_MS : EXIT_TIMEOUT_MS;
    for (let leftMs = timeoutMs; leftMs > 0 && !signal.aborted; leftMs -= END_AGAIN_MS) {
      await process
        .endInput?.()
        .catch(thrown => this.ports.warn(`The input of ${this.run.id} could not be ended`, thrown));
      await delay(Math.min(leftMs, END_AGAIN_MS), null, { signal, ref: false }).catch(() => {}); // the turn has ended, which aborts the wait
    }
    if (!signal.aborted) process.stop(STOP_GRACE_MS);
  }

  /**
   * Call this when the turn has ended. Do not call it when only the hub stops, because the agent's questions then
   * stay open.
   */
  end(): void {
    this.isClosed = true;
    this.over.abort();
  }
}

/** Time that a message waits for an agent that has just been started. */
const READY_TIMEOUT_MS = 10_000;
const NOT_SENT = 'A line for an agent could not be written';
