import type { Clock } from '../../base/clock.ts';
import type { TraceMessage } from '../../schema/conversation.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import type { EventBody } from '../../schema/event.ts';
import type { Baseline } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import type { ChatTotals, Run, RunStatus, StopReason, Turn, Usage } from '../../schema/run.ts';
import type { MessagePlace } from '../conversations/recorder.ts';
import type { Spending } from '../cost/budget.ts';
import { NOTHING_USED } from '../cost/usage.ts';
import type { Engine, EngineEvent } from '../ports/engine.ts';
import type { Following, RunFiles } from '../ports/run-files.ts';
import type { LiveTurn } from '../ports/turns.ts';
import { wallTimeOf } from './admission.ts';
import { ActivityPace, EngineReport } from './engine-report.ts';
import type { TwoWayTurn } from './two-way.ts';

/** Statuses of runs that wait without a slot, once their turn has ended. */
export const WAITING: readonly RunStatus[] = ['waiting_review', 'waiting_children', 'waiting_limit'];

/** Maximum delay of setTimeout. Longer deadlines need several timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Interval in which a timer reads the wall clock. */
const CLOCK_CHECK_MS = 5_000;

/** Prompt, environment and other input of a turn, kept in memory so that the start of a turn reads no files. */
export interface RunMaterial {
  prompt: string;
  promptFile: string;
  env: Record<string, string>;
}

export interface RunEngine {
  engine: Engine;
  spec: EngineSpec;
}

/** Listener for everything that an agent reports while it runs. */
export interface RunListener {
  activity(body: EventBody): void;
  usage(): void;
  /** Called for a message of the conversation, including messages that an earlier hub has already read. */
  message(message: TraceMessage, place: MessagePlace): void;
  /**
   * Called with every output line, after its events. `isCut` means that `line` is only the beginning of a line that
   * was too long.
   */
  line?(line: string, isCut: boolean): void;
}

/** A run that has not ended, and its state in memory. */
export class LiveRun {
  readonly run: Run;
  /**
   * Null for a running turn that an earlier hub started, because only the start needs the material. Also null before
   * `load`.
   */
  material: RunMaterial | null;
  turn: Turn | null = null;
  process: LiveTurn | null = null;
  /** Input of a fed turn. Null if the agent reads only its prompt. */
  twoWay: TwoWayTurn | null = null;
  stop: StopReason | null = null;
  /** When a stop was requested, on the monotonic clock. Null if unknown. */
  stopAskedAt: number | null = null;
  /** True when the outcome of the turn is decided and being written. The turn can no longer be stopped. */
  isEnding = false;
  /** The change of the run that is being written. The next change waits for it. */
  changing: Promise<void> | null = null;
  /** False if the run certainly has no messages, so that the end of the run need not search the database for them. */
  mayHaveMessages = false;
  /** Pending writes of messages for the run. The turn does not end before they are done. */
  telling: Promise<unknown> = Promise.resolve();
  /** Aborts the preparation of a turn before its agent is started. */
  starting = new AbortController();
  /** Usage of the run's earlier turns. */
  usageBefore: Usage | null;
  /** Usage in the last activity event that contains usage. */
  spentInEvents: { tokens: number | null; costUsd: number | null } | null = null;
  /** True while the run counts against the limit of concurrent runs. */
  isActive = false;
  report: EngineReport;
  /** Usage of the chat before this run. Null if unknown. */
  chatTotals: Usage | null;
  /**
   * Mark of the chat at the end of the turn, from the engine. Undefined if it was not read, or if the engine has no
   * marks.
   */
  chatMark: string | null | undefined = undefined;
  /**
   * All chats of the run: the requested ones and those that the engine reported. No other run may use them meanwhile.
   */
  readonly chats = new Set<string>();
  /**
   * Chat that existed before the turn. Null if the turn starts a new chat. A sandboxed agent uses the folder of this
   * chat.
   */
  chatBefore: string | null;
  /** Child runs whose end the agent has seen, because it waited for them. */
  readonly seenEnds = new Set<RunId>();
  /** Number of calls of the run's agent that are waiting for other runs. */
  waits = 0;
  /** State of the folder before the agent started. Null if not read yet. */
  baseline: Baseline | null = null;
  /** Snapshot of the folder that is taken while the run is being saved, so that the agent starts sooner. */
  earlyBaseline: Promise<Baseline> | null = null;
  /** The budget that the run exceeded, if any. */
  overBudget: Spending | null = null;
  /** Time of the last heartbeat, on the monotonic clock. */
  lastSignAt: number | null = null;
  /** Resolved when the run has ended and its end is on disk. */
  readonly ended = Promise.withResolvers<void>();
  /** Resolved with the ended run, before its end is on disk. */
  readonly decided = Promise.withResolvers<Run>();
  /** Resolved when the end of the current turn is completely written: the run has ended, or waits for a review. */
  turnOver = Promise.withResolvers<void>();

  /** Reports the number of skipped events at the end of the turn. */
  reportSkipped: () => void = () => {};
  /** Number of output lines that were too long to read as events. */
  linesDropped = 0;

  /** Null before `load` if an earlier hub left the run in the queue. */
  private built: RunEngine | null;
  private follower: Following | null = null;
  /** Deadline on the monotonic clock. Null if there is no timer. */
  private deadline: number | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(run: Run, built: RunEngine | null, material: RunMaterial | null) {
    this.run = run;
    this.built = built;
    this.material = material;
    this.report = new EngineReport(null);
    // The usage of a copied chat may count from the beginning of the original.
    this.chatTotals = run.chatIsNew && run.options.forksChat === null ? NOTHING_USED : null;
    this.chatBefore = run.chatId;
    if (run.chatId !== null) this.chats.add(run.chatId);
    this.usageBefore = run.usage;
  }

  /**
   * Loads a run that an earlier hub left in the queue. Loading waits until the run gets a slot, because there may be
   * thousands of such runs.
   */
  async load(read: () => Promise<{ engine: RunEngine; material: RunMaterial }>): Promise<void> {
    if (this.built !== null) return;
    const { engine, material } = await read();
    this.built = engine;
    this.material = material;
  }

  /** Another engine takes over with the next turn. */
  replaceEngine(built: RunEngine): void {
    this.built = built;
    this.chatTotals = NOTHING_USED;
    this.chats.clear();
    if (this.run.chatId !== null) this.chats.add(this.run.chatId);
  }

  get engine(): Engine {
    return this.loaded.engine;
  }

  get spec(): EngineSpec {
    return this.loaded.spec;
  }

  private get loaded(): RunEngine {
    if (this.built === null) throw new Error(`The engine of ${this.run.id} is not loaded yet`);
    return this.built;
  }

  get turnNumber(): number {
    return this.run.turn;
  }

  /** True if the run waits for a review, its child runs or a usage limit, and has no turn. */
  get isPaused(): boolean {
    return WAITING.includes(this.run.status) && this.process === null && !this.isEnding;
  }

  /** Resets the state after the end of a turn was written. Another turn follows, or the end of the run. */
  pause(): void {
    this.release();
    this.usageBefore = this.run.usage;
    this.chatBefore = this.run.chatId;
    this.report = new EngineReport(null);
    this.process = null;
    this.twoWay = null;
    this.turn = null;
    this.material = null;
    this.stop = null;
    this.stopAskedAt = null;
    this.deadline = null;
    this.overBudget = null;
    this.chatMark = undefined;
    this.isActive = false;
    this.isEnding = false;
    this.starting = new AbortController();
    this.turnOver.resolve();
    this.turnOver = Promise.withResolvers();
  }

  /**
   * Reads the agent's events as they are written. An earlier hub has already reported lines within the first `seen`
   * bytes.
   */
  follow(files: RunFiles, clock: Clock, listener: RunListener, seen = 0): void {
    if (!this.engine.reader) return;
    this.report = new EngineReport(this.engine.reader());
    const pace = new ActivityPace();
    this.reportSkipped = () => {
      const activity = pace.rest();
      if (activity) listener.activity(activity);
    };
    this.linesDropped = 0;
    let bytes = 0;
    let messages = 0;
    const passed = (ofLine: number) => {
      bytes += ofLine + 1;
      if (bytes > seen) this.lastSignAt = clock.monotonic();
    };
    const onLine = (line: string, ofLine: number) => {
      passed(ofLine);
      for (const event of this.report.take(line)) {
        this.learn(event);
        if (event.type === 'usage') listener.usage();
        if (event.type === 'message')
          listener.message(event.message, { position: messages++, bytes: ofLine });
        const activity = bytes > seen ? pace.take(event, clock.monotonic()) : null;
        if (activity) listener.activity(activity);
      }
      listener.line?.(line, false);
    };
    const onLongLine = (beginning: string, ofLine: number) => {
      passed(ofLine);
      this.linesDropped++;
      this.report.skip(beginning);
      listener.line?.(beginning, true);
    };
    const turn = { runId: this.run.id, number: this.turnNumber };
    this.follower = files.follow(turn, 'stdout', onLine, onLongLine);
    const { twoWay, follower } = this;
    if (!twoWay || twoWay.isReady) return;
    // The agent waits for its prompt until the hub has read that it is ready.
    const calm = follower.hurry();
    void twoWay.untilReady().then(calm);
  }

  /** Stores what the engine reports about the run itself, such as its chat and model. */
  learn(event: EngineEvent): void {
    if (event.type === 'chat') this.takeChat(event.id);
    else if (event.type === 'model') this.run.model = event.model;
  }

  /**
   * Totals of the chat for the next turn. Earlier figures stay if the turn reported nothing. Null to keep the stored
   * totals.
   */
  get totalsOfChat(): ChatTotals | null {
    const before = this.chatMark === undefined || this.chatTotals === NOTHING_USED ? null : this.chatTotals;
    const totals = this.report.totalsOfChat(this.chatTotals) ?? before;
    return totals && { ...totals, mark: this.chatMark ?? null };
  }

  /** Sets the chat that replies to this run continue. */
  takeChat(id: string): void {
    this.run.chatId = id;
    this.chats.add(id);
  }

  /**
   * Calls `act` at the deadline. The wall clock is used only for a turn that an earlier hub started, and never adds
   * more than the whole timeout, because the clock may have been changed. A subagent call is timed from the moment of
   * the call, because its caller waits. Its start does not restart the timer.
   */
  atDeadline(clock: Clock, act: () => void): void {
    const stored = (this.turn?.deadlineAt ?? Number.POSITIVE_INFINITY) - clock.now();
    this.deadline ??= clock.monotonic() + Math.min(stored, this.run.timeoutMs);
    this.after(this.timeLeft(clock), act);
  }

  /** Milliseconds that the run's turn has left, or will have when it starts. */
  timeLeft(clock: Clock): number {
    return this.deadline === null ? this.run.timeoutMs : this.deadline - clock.monotonic();
  }

  /** The deadline on the wall clock. Null if there is none, or if the turn ended before this hub saw it. */
  deadlineNow(clock: Clock): number | null {
    return this.deadline === null ? null : wallTimeOf(clock, this.deadline);
  }

  /**
   * Calls `act` at this time of the wall clock. The clock is read again and again, because it may be changed, and timers
   * stand still while a machine sleeps.
   */
  atTime(clock: Clock, at: number, act: () => void): void {
    this.stopTimer();
    const leftMs = at - clock.now();
    this.timer = setTimeout(
      () => (clock.now() < at ? this.atTime(clock, at, act) : act()),
      Math.max(0, Math.min(leftMs, CLOCK_CHECK_MS)),
    );
  }

  private after(leftMs: number, act: () => void): void {
    this.stopTimer();
    this.timer = setTimeout(
      () => (leftMs > MAX_TIMER_MS ? this.after(leftMs - MAX_TIMER_MS, act) : act()),
      Math.max(0, Math.min(leftMs, MAX_TIMER_MS)),
    );
  }

  /** Reads the agent's output to its end. */
  async drain(): Promise<void> {
    await this.follower?.stop();
    this.follower = null;
  }

  stopTimer(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Releases timers and files. The agent's process keeps running. */
  release(): void {
    this.stopTimer();
    this.drain().catch(() => {}); // callers that need the rest of the output call drain() themselves and get its error
  }
}
