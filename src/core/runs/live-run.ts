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

/** setTimeout's own ceiling; a longer deadline is reached in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a run needs on its way in, kept in memory so that starting it reads nothing back. */
export interface RunMaterial {
  prompt: string;
  promptFile: string;
  env: Record<string, string>;
}

export interface RunEngine {
  engine: Engine;
  spec: EngineSpec;
}

/** Who hears of what an agent does while it does it. */
export interface RunListener {
  activity(body: EventBody): void;
  /** It reported what it used. */
  usage(): void;
  /** A message of its conversation, also of those that an earlier hub heard. */
  message(message: TraceMessage, place: MessagePlace): void;
}

/** A run that has not ended, with everything the hub holds for it while it lives. */
export class LiveRun {
  readonly run: Run;
  /** Null for a turn found at work, which needs none any more, and until `load` for a run found in the queue. */
  material: RunMaterial | null;
  turn: Turn | null = null;
  process: LiveTurn | null = null;
  stop: StopReason | null = null;
  /** When that was asked for, on the monotonic clock; null: not known. */
  stopAskedAt: number | null = null;
  /** The end of its turn has been judged and is being written: too late for any wish about that turn. */
  isEnding = false;
  /** Something about it is being written that whoever comes next has to wait for. */
  changing: Promise<void> | null = null;
  /** Ends what is done for a turn before its agent is there. */
  starting = new AbortController();
  /** What its turns before this one used. */
  usageBefore: Usage | null;
  /** True while it counts against the limit of runs at once. */
  isActive = false;
  /** What its engine says, when its engine says things. */
  report: EngineReport;
  /** What the chat had used before this run; null: not known. */
  chatTotals: Usage | null;
  /** How the engine's record of the chat looked at the end of the turn. Undefined: nobody has looked, or it has none. */
  chatMark: string | null | undefined = undefined;
  /** Every chat it works on, the one it was asked to go on with and the one its engine says it is: all are kept from others. */
  readonly chats = new Set<string>();
  /** How many calls of its agent wait for other runs just now. */
  waits = 0;
  /** The folder as it was before the agent; null while nobody has looked. */
  baseline: Baseline | null = null;
  /** Begun while the run is written down, so that its start need not wait for all of it. */
  looking: Promise<Baseline> | null = null;
  /** The budget it went over, if it did. */
  overBudget: Spending | null = null;
  /** When it last gave a sign of life, on the monotonic clock. */
  lastSignAt: number | null = null;
  /** Resolved when the run has ended and its end is on disk. */
  readonly ended = Promise.withResolvers<void>();
  /** Resolved with the ended run before its end is on disk. */
  readonly decided = Promise.withResolvers<Run>();
  /** Resolved when nothing more is written about the end of its current turn: the run has ended, or waits for a review. */
  turnOver = Promise.withResolvers<void>();

  /** The turn is over: what of it was not told one by one. */
  tellRest: () => void = () => {};
  /** Lines of its output that were too long to be read as events. */
  linesDropped = 0;

  /** Null until `load`, for a run that an earlier hub left in the queue. */
  private built: RunEngine | null;
  private follower: ReturnType<RunFiles['follow']> | null = null;
  /** On the monotonic clock; null while nothing is timed. */
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

  /** A run that an earlier hub left in the queue is read only when its turn comes: there may be thousands. */
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
    if (this.built === null) throw new Error(`The engine of ${this.run.id} was not read yet`);
    return this.built;
  }

  get turnNumber(): number {
    return this.run.turn;
  }

  /** It waits, and has no turn. */
  get isPaused(): boolean {
    return this.run.status === 'waiting_review' && this.process === null && !this.isEnding;
  }

  /** Its turn is over and written down; what comes next is another one, or the end. */
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

  /** Reads the agent's own events as they are written. Lines within the first `seen` bytes were reported by an earlier hub. */
  follow(files: RunFiles, clock: Clock, tell: RunListener, seen = 0): void {
    if (!this.engine.reader) return;
    this.report = new EngineReport(this.engine.reader());
    const pace = new ActivityPace();
    this.tellRest = () => {
      const activity = pace.rest();
      if (activity) tell.activity(activity);
    };
    this.linesDropped = 0;
    let bytes = 0;
    let messages = 0;
    const passed = (ofLine: number) => {
      bytes += ofLine + 1;
      if (bytes > seen) this.lastSignAt = clock.monotonic();
    };
    const onLine = (line: string) => {
      const ofLine = Buffer.byteLength(line);
      passed(ofLine);
      for (const event of this.report.take(line)) {
        this.learn(event);
        if (event.type === 'usage') tell.usage();
        if (event.type === 'message') tell.message(event.message, { position: messages++, bytes: ofLine });
        const activity = bytes > seen ? pace.take(event, clock.monotonic()) : null;
        if (activity) tell.activity(activity);
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

  /** What an engine says about the run itself. */
  learn(event: EngineEvent): void {
    if (event.type === 'chat') this.takeChat(event.id);
    else if (event.type === 'model') this.run.model = event.model;
  }

  /** Totals of its chat, for the next turn; null: what is stored stays. A turn that reported nothing leaves the figures. */
  get totalsOfChat(): ChatTotals | null {
    const before = this.chatMark === undefined || this.chatTotals === NOTHING_USED ? null : this.chatTotals;
    const totals = this.report.totalsOfChat(this.chatTotals) ?? before;
    return totals && { ...totals, mark: this.chatMark ?? null };
  }

  /** The chat that replies go on with from now on. */
  takeChat(id: string): void {
    this.run.chatId = id;
    this.chats.add(id);
  }

  /**
   * By the wall clock only for a turn that an earlier hub started, and never for longer than its whole time: the clock may have
   * been set since. A call, whose caller waits all the while, is timed from the call on, and a start does not begin its time anew.
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

  /** Its deadline as the clock shows it now. Null: none, or it ended before this hub saw it. */
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

  /** Reads what the agent wrote last. */
  async drain(): Promise<void> {
    await this.follower?.stop();
    this.follower = null;
  }

  /** Its deadline is none any more. */
  stopTimer(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Lets go of timers and files; the process goes on. */
  release(): void {
    this.stopTimer();
    this.drain().catch(() => {}); // whoever needs what is left has read it, and was told
  }
}
