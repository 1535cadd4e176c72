import type { Clock } from '../../base/clock.ts';
import type { TraceMessage } from '../../schema/conversation.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import type { EventBody } from '../../schema/event.ts';
import type { Baseline } from '../../schema/evidence.ts';
import type { ChatTotals, Run, StopReason, Turn, Usage } from '../../schema/run.ts';
import type { MessagePlace } from '../conversations/recorder.ts';
import type { Spending } from '../cost/budget.ts';
import { NOTHING_USED } from '../cost/usage.ts';
import type { Engine, EngineEvent } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { LiveTurn } from '../ports/turns.ts';
import { wallTimeOf } from './admission.ts';
import { ActivityPace, EngineReport } from './engine-report.ts';

/** Maximum of setTimeout; longer deadlines are reached in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Input of a turn, kept in memory so that the start reads no files. */
export interface RunMaterial {
  prompt: string;
  promptFile: string;
  env: Record<string, string>;
}

export interface RunEngine {
  engine: Engine;
  spec: EngineSpec;
}

/** Receives what an agent reports while it runs. */
export interface RunListener {
  activity(body: EventBody): void;
  usage(): void;
  /** A message of the conversation, also one that an earlier hub has read before. */
  message(message: TraceMessage, place: MessagePlace): void;
}

/** A run that has not ended, with its state in memory. */
export class LiveRun {
  readonly run: Run;
  /** Null for a running turn that this hub found, which no longer needs it, and before `load` for a run found in the queue. */
  material: RunMaterial | null;
  turn: Turn | null = null;
  process: LiveTurn | null = null;
  stop: StopReason | null = null;
  /** On the monotonic clock; null: unknown. */
  stopAskedAt: number | null = null;
  /** The outcome of its turn is decided and being written: too late to stop that turn. */
  isEnding = false;
  /** A write about the run that the next change has to wait for. */
  changing: Promise<void> | null = null;
  /** Aborts the preparation of a turn before its agent is started. */
  starting = new AbortController();
  /** Usage of earlier turns. */
  usageBefore: Usage | null;
  /** True while it counts against the limit of concurrent runs. */
  isActive = false;
  report: EngineReport;
  /** Usage of the chat before this run; null: unknown. */
  chatTotals: Usage | null;
  /** The engine's mark of the chat at the end of the turn. Undefined: not read, or the engine has none. */
  chatMark: string | null | undefined = undefined;
  /** All its chats, requested and reported by the engine. No other run may use them meanwhile. */
  readonly chats = new Set<string>();
  /** How many calls of its agent wait for other runs. */
  waits = 0;
  /** The folder before the agent started; null: not read yet. */
  baseline: Baseline | null = null;
  /** Started while the run is being saved, so that the start has less to wait for. */
  earlyBaseline: Promise<Baseline> | null = null;
  /** The budget that was exceeded. */
  overBudget: Spending | null = null;
  /** Last sign of life, on the monotonic clock. */
  lastSignAt: number | null = null;
  /** Resolved when the run has ended and its end is on disk. */
  readonly ended = Promise.withResolvers<void>();
  /** Resolved with the ended run before its end is on disk. */
  readonly decided = Promise.withResolvers<Run>();
  /** Resolved when nothing more is written about the end of its current turn: the run has ended, or waits for a review. */
  turnOver = Promise.withResolvers<void>();

  /** Reports activity that was skipped, at the end of the turn. */
  reportSkipped: () => void = () => {};
  /** Lines of output that were too long to read as events. */
  linesDropped = 0;

  /** Null before `load`, for a run that an earlier hub left in the queue. */
  private built: RunEngine | null;
  private follower: ReturnType<RunFiles['follow']> | null = null;
  /** On the monotonic clock; null: no timer. */
  private deadline: number | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(run: Run, built: RunEngine | null, material: RunMaterial | null) {
    this.run = run;
    this.built = built;
    this.material = material;
    this.report = new EngineReport(null);
    this.chatTotals = run.chatIsNew ? NOTHING_USED : null;
    if (run.chatId !== null) this.chats.add(run.chatId);
    this.usageBefore = run.usage;
  }

  /** A run that an earlier hub left in the queue is read only when it gets a slot: there may be thousands. */
  async load(read: () => Promise<{ engine: RunEngine; material: RunMaterial }>): Promise<void> {
    if (this.built !== null) return;
    const { engine, material } = await read();
    this.built = engine;
    this.material = material;
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

  /** It waits for a review and has no turn. */
  get isPaused(): boolean {
    return this.run.status === 'waiting_review' && this.process === null && !this.isEnding;
  }

  /** Resets it after the end of a turn was written. Another turn follows, or the end. */
  pause(): void {
    this.release();
    this.usageBefore = this.run.usage;
    this.report = new EngineReport(null);
    this.process = null;
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

  /** Reads the agent's events as they are written. Lines within the first `seen` bytes were reported by an earlier hub. */
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
    };
    const onLongLine = (beginning: string, ofLine: number) => {
      passed(ofLine);
      this.linesDropped++;
      this.report.skip(beginning);
    };
    const turn = { runId: this.run.id, number: this.turnNumber };
    this.follower = files.follow(turn, 'stdout', onLine, onLongLine);
  }

  /** Takes over what the engine reports about the run itself. */
  learn(event: EngineEvent): void {
    if (event.type === 'chat') this.takeChat(event.id);
    else if (event.type === 'model') this.run.model = event.model;
  }

  /** Totals of its chat for the next turn; null: the stored ones stay. A turn that reported nothing keeps the figures. */
  get totalsOfChat(): ChatTotals | null {
    const before = this.chatMark === undefined || this.chatTotals === NOTHING_USED ? null : this.chatTotals;
    const totals = this.report.totalsOfChat(this.chatTotals) ?? before;
    return totals && { ...totals, mark: this.chatMark ?? null };
  }

  /** Replies continue this chat from now on. */
  takeChat(id: string): void {
    this.run.chatId = id;
    this.chats.add(id);
  }

  /**
   * Uses the wall clock only for a turn that an earlier hub started, and never for longer than the whole timeout: the clock may
   * have been set since. A call of a subagent is timed from the call on, because its caller waits; its start does not restart
   * the timer.
   */
  atDeadline(clock: Clock, act: () => void): void {
    const stored = (this.turn?.deadlineAt ?? Number.POSITIVE_INFINITY) - clock.now();
    this.deadline ??= clock.monotonic() + Math.min(stored, this.run.timeoutMs);
    this.after(this.timeLeft(clock), act);
  }

  /** Milliseconds that its turn has left, or will have. */
  timeLeft(clock: Clock): number {
    return this.deadline === null ? this.run.timeoutMs : this.deadline - clock.monotonic();
  }

  /** Deadline by the current wall clock. Null: none, or the turn ended before this hub saw it. */
  deadlineNow(clock: Clock): number | null {
    return this.deadline === null ? null : wallTimeOf(clock, this.deadline);
  }

  private after(leftMs: number, act: () => void): void {
    this.stopTimer();
    this.timer = setTimeout(
      () => (leftMs > MAX_TIMER_MS ? this.after(leftMs - MAX_TIMER_MS, act) : act()),
      Math.max(0, Math.min(leftMs, MAX_TIMER_MS)),
    );
  }

  /** Reads the rest of the output. */
  async drain(): Promise<void> {
    await this.follower?.stop();
    this.follower = null;
  }

  stopTimer(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Releases timers and files. The process keeps running. */
  release(): void {
    this.stopTimer();
    this.drain().catch(() => {}); // callers that need the rest call drain() themselves and see its error
  }
}
