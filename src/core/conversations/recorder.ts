import { NATIVE, type TraceMessage, type TraceRole, traceLabel } from '../../schema/conversation.ts';
import { asSquadError, type SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Engines } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { MessageStore, PlacedMessage } from '../ports/store.ts';
import { loadPlan } from '../runs/plan-file.ts';

/** Which messages of one turn are stored, by their positions in the turn. */
class TracedTurn {
  readonly run: Run;
  readonly number: number;
  readonly saved = new Set<number>();
  /** Positions of messages that are being stored. */
  readonly pending = new Set<number>();
  /** True if some messages were dropped and have to be read again. */
  isMissing = false;
  /** True if this hub has read all output of the turn. */
  isRead = false;
  isOver = false;
  private readonly failed = new Set<number>();
  private reported = 0;

  constructor(run: Run, number: number) {
    this.run = run;
    this.number = number;
  }

  has(position: number): boolean {
    return this.saved.has(position) || this.pending.has(position);
  }

  /** Returns true if the message at this position is new. Returns true only once for each position. */
  isNews(position: number): boolean {
    if (position < this.reported) return false;
    this.reported = position + 1;
    return true;
  }

  finished(position: number, isSaved: boolean): void {
    this.pending.delete(position);
    if (isSaved) this.saved.add(position);
    else this.isMissing = true;
  }

  /** Call this when storing the message at this position failed. Returns true only for its first failure. */
  failsFirst(position: number): boolean {
    if (this.failed.has(position)) return false;
    this.failed.add(position);
    return true;
  }
}

export type TraceNote =
  | { kind: 'message'; message: TraceMessage }
  | { kind: 'saved'; messageId: string; role: TraceRole; parentId: string | null }
  /** The message is not stored yet. It is read again from the output and retried. */
  | { kind: 'failed'; messageId: string; error: SquadError };

/** Position of a message in its turn, and its size in the output. */
export interface MessagePlace {
  position: number;
  bytes: number;
}

interface TracesPorts {
  store: MessageStore;
  run(id: RunId): Promise<Run | null>;
  /** Reads all messages that a turn has written so far. */
  readMessages(
    run: Run,
    turn: number,
    take: (message: TraceMessage, place: MessagePlace) => void,
  ): Promise<void>;
  /** Called when the store rejects messages. Not called again until the store accepts messages. */
  warn(message: string, cause: unknown): void;
}

/**
 * Maximum size of messages that are being stored. Further messages are not kept in memory but read again from the
 * output later.
 */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGES = 5_000;
/** Maximum size of a transaction, because a transaction blocks the event loop. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_MESSAGES = 100;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 120_000;
const AT_A_START = 1_000;

interface Waiting {
  message: PlacedMessage;
  turn: TracedTurn;
  bytes: number;
}

/**
 * Stores conversations. Nobody waits for this and it never throws: messages that the store rejects are dropped and read
 * again from the run's output until they are stored, by this hub or the next one.
 */
export class Traces {
  private readonly ports: TracesPorts;
  private readonly turns = new Map<RunId, Map<number, TracedTurn>>();
  private readonly listeners = new Map<RunId, Set<(note: TraceNote) => void>>();
  private batch: Waiting[] = [];
  private batchBytes = 0;
  private flushing: NodeJS.Immediate | null = null;
  private readonly inFlight = { messages: 0, bytes: 0 };
  private lastError: SquadError | null = null;
  private pauseMs = FIRST_PAUSE_MS;
  private retry: NodeJS.Timeout | null = null;
  private isReading = false;
  private isClosed = false;

  constructor(ports: TracesPorts) {
    this.ports = ports;
  }

  /** Takes the next message of a run's turn; it may have been read before. */
  take(run: Run, message: TraceMessage, place: MessagePlace): void {
    const turn = this.turnOf(run, run.turn);
    if (turn.isNews(place.position)) this.notify(run.id, { kind: 'message', message });
    this.save(turn, message, place);
  }

  /**
   * Called when the output of the current turn has been read completely. The messages of the turn are stored before
   * later messages.
   */
  turnOver(run: Run): void {
    if (run.engine !== NATIVE) return;
    const current = this.turnOf(run, run.turn);
    current.isRead = true;
    this.flush();
  }

  /** Called when a run has ended, also for a run that ended while no hub was running. */
  over(run: Run): void {
    if (run.engine !== NATIVE) return;
    for (let number = 1; number <= run.turn; number++) {
      const turn = this.turnOf(run, number);
      // This hub does not know which messages an earlier hub stored, so the turn is read again.
      if (!turn.isRead) turn.isMissing = true;
      turn.isOver = true;
    }
    this.flush();
    this.reviewAll();
  }

  /** Notes for the result of the run. */
  remarks(run: Run): string[] {
    const isMissing = [...(this.turns.get(run.id)?.values() ?? [])].some(turn => turn.isMissing);
    if (!isMissing || !this.lastError) return [];
    return [
      `Not all of its conversation was stored when it ended (${this.lastError.message}). It is read again from its output; until then \`squad log ${shellWord(run.id)}\` has all of it.`,
    ];
  }

  /** Number of messages of a running run that are known to be stored. */
  savedOf(id: RunId): number {
    let count = 0;
    for (const turn of this.turns.get(id)?.values() ?? []) count += turn.saved.size;
    return count;
  }

  /**
   * Calls the listener when messages of a run are stored or fail to be stored, from now on. Returns a function that
   * unsubscribes.
   */
  on(runId: RunId, listener: (note: TraceNote) => void): () => void {
    const all = this.listeners.get(runId) ?? new Set();
    const entry = (note: TraceNote) => listener(note);
    all.add(entry);
    this.listeners.set(runId, all);
    return () => {
      all.delete(entry);
      if (all.size === 0 && this.listeners.get(runId) === all) this.listeners.delete(runId);
    };
  }

  /** Reads conversations again that earlier hubs did not store completely. */
  async recover(): Promise<void> {
    try {
      for (const id of await this.ports.store.unclosedConversations(AT_A_START)) {
        const run = await this.ports.run(id);
        if (run && isEnd(run.status)) this.over(run);
      }
    } catch (thrown) {
      this.ports.warn('Unfinished conversations could not be read', thrown);
    }
  }

  /** Passes all messages to the store. If the store no longer accepts some, the next hub finds them in the output. */
  close(): void {
    this.flush();
    this.isClosed = true;
    if (this.retry) clearTimeout(this.retry);
  }

  private turnOf(run: Run, number: number): TracedTurn {
    const known = this.turns.get(run.id) ?? new Map<number, TracedTurn>();
    this.turns.set(run.id, known);
    const turn = known.get(number) ?? new TracedTurn(run, number);
    known.set(number, turn);
    return turn;
  }

  private save(turn: TracedTurn, message: TraceMessage, { position, bytes }: MessagePlace): void {
    if (turn.has(position) || this.isClosed) return;
    const { inFlight } = this;
    if (inFlight.messages > 0 && (inFlight.messages >= MAX_MESSAGES || inFlight.bytes + bytes > MAX_BYTES)) {
      turn.isMissing = true;
      return;
    }
    const { run, number } = turn;
    const label = traceLabel(run.id, run.options.subagent);
    turn.pending.add(position);
    inFlight.messages++;
    inFlight.bytes += bytes;
    this.batch.push({
      message: { ...message, runId: run.id, label, turn: number, position },
      turn,
      bytes,
    });
    this.batchBytes += bytes;
    if (this.batch.length >= BATCH_MESSAGES || this.batchBytes >= BATCH_BYTES) this.flush();
    else this.flushing ??= setImmediate(() => this.flush());
  }

  private flush(): void {
    if (this.flushing) clearImmediate(this.flushing);
    this.flushing = null;
    const { batch } = this;
    this.batch = [];
    this.batchBytes = 0;
    if (batch.length > 0) void this.write(batch);
  }

  private async write(batch: Waiting[]): Promise<void> {
    const error = await this.ports.store
      .saveMessages(batch.map(({ message }) => message))
      .then(() => null, asSquadError);
    for (const { message, turn, bytes } of batch) {
      this.inFlight.messages--;
      this.inFlight.bytes -= bytes;
      turn.finished(message.position, error === null);
      const { id: messageId, role, parentId } = message;
      if (!error) this.notify(message.runId, { kind: 'saved', messageId, role, parentId });
      else if (turn.failsFirst(message.position))
        this.notify(message.runId, { kind: 'failed', messageId, error });
    }
    if (error) this.onError(error, batch[0]!.message.runId);
    else {
      this.lastError = null;
      this.pauseMs = FIRST_PAUSE_MS;
    }
    this.reviewAll();
  }

  private onError(error: SquadError, runId: RunId): void {
    if (!this.lastError && !this.isClosed)
      this.ports.warn(
        `Messages of ${runId}, and perhaps of other runs, cannot be stored now; they will be read again from the output`,
        error,
      );
    this.lastError = error;
    this.readSoon(this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, MAX_PAUSE_MS);
  }

  /** Closes complete conversations, and schedules reading of dropped messages. */
  private reviewAll(): void {
    let isMissing = false;
    for (const [id, known] of this.turns) {
      const turns = [...known.values()];
      if (turns.some(turn => turn.isMissing)) isMissing = true;
      else if (turns.every(turn => turn.isOver && turn.pending.size === 0)) {
        this.turns.delete(id);
        void this.closeConversation(turns[0]!.run);
      }
    }
    // Waits until pending messages are stored, because they count towards the size limit. After an error it waits
    // before the next attempt.
    if (this.inFlight.messages > 0) return;
    if (!isMissing) this.lastError = null;
    else if (!this.lastError) this.readSoon(0);
  }

  /** Marks the conversation as complete. If this fails, the next hub repeats it. */
  private async closeConversation({ id, options, createdAt }: Run): Promise<void> {
    const label = traceLabel(id, options.subagent);
    await this.ports.store
      .closeConversation({ runId: id, label, startedAt: createdAt })
      .catch(thrown =>
        this.ports.warn(`The conversation of ${id} is checked again at the next start`, thrown),
      );
  }

  private readSoon(ms: number): void {
    if (this.isClosed || this.isReading) return;
    if (this.retry) clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.readMissing(), ms).unref();
  }

  /** Reads one turn at a time, so that the size limit holds. */
  private async readMissing(): Promise<void> {
    this.isReading = true;
    for (const turns of [...this.turns.values()])
      for (const turn of turns.values()) {
        if (!turn.isMissing || this.isClosed || this.inFlight.bytes >= MAX_BYTES) continue;
        turn.isMissing = false;
        await this.ports
          .readMessages(turn.run, turn.number, (message, place) => this.save(turn, message, place))
          .catch(thrown => {
            turn.isMissing = true;
            this.onError(asSquadError(thrown), turn.run.id);
          });
        this.flush();
      }
    this.isReading = false;
    this.reviewAll();
    if (this.lastError) this.readSoon(this.pauseMs);
  }

  private notify(runId: RunId, note: TraceNote): void {
    for (const listener of this.listeners.get(runId) ?? [])
      try {
        listener(note);
      } catch (thrown) {
        this.ports.warn(`A listener on ${runId} failed`, thrown);
      }
  }
}

/** Reads the messages of a turn from its output. Returns none if the run's plan cannot be read. */
export const messageReader =
  ({ files, engines }: { files: RunFiles; engines: Pick<Engines, 'create'> }): TracesPorts['readMessages'] =>
  async (run, turn, take) => {
    const plan = await loadPlan(files, run, turn);
    const reader = plan && engines.create(plan.spec).reader?.();
    if (!reader) return;
    let position = 0;
    const reading = files.follow({ runId: run.id, number: turn }, 'stdout', (line, bytes) => {
      for (const event of reader.line(line))
        if (event.type === 'message') take(event.message, { position: position++, bytes });
    });
    await reading.stop();
  };
