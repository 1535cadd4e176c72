import type { Clock } from '../../base/clock.ts';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { ProcessStats } from '../ports/turns.ts';
import { monotonicOf, wallTimeOf } from './admission.ts';
import type { LiveRun } from './live-run.ts';

/**
 * State of a running turn, derived from its output and its processes. None of these states ends the run.
 *
 * | State      | No output                | Processes of the turn                           |
 * | ---------- | ------------------------ | ----------------------------------------------- |
 * | working    | for less than below      | any                                             |
 * | slow_start | since the start, 30 s    | exist                                           |
 * | silent     | for 60 s                 | exist; active, or idle for less than the stall limit |
 * | stalled    | for the stall limit      | exist, and neither computed, read nor wrote for the stall limit |
 * | dead       | since this was noticed   | gone, or stopped by a signal, with no exit record |
 *
 * Output means a whole line, growth of the output file, or an event of the engine.
 */
/** State of silence. `away` means that the run's machine does not answer. */
export type SilenceState = 'working' | 'slow_start' | 'silent' | 'stalled' | 'dead' | 'away';

export interface Silence {
  state: SilenceState;
  since: number;
  sentence: string;
}

const DEFAULT_STALL_MS = 300_000;
const SLOW_START_MS = 30_000;
const SILENT_MS = 60_000;
const FIRST_CHECK_MS = 20_000;
/**
 * The exit record of an ended agent is written within moments, so one sample without processes does not prove that it
 * is dead.
 */
const DEAD_FOR_MS = 2_000;
/** Below these rates the processes count as idle, because timers and open connections alone cause such values. */
const BUSY_CPU_SHARE = 0.01;
const BUSY_BYTES_PER_SECOND = 256;

interface Sample extends ProcessStats {
  at: number;
}

/** How long a turn may be silent before Squad checks its processes. */
export const silenceBeforeCheckMs = (stallMs: number | null): number =>
  Math.min(FIRST_CHECK_MS, (stallMs ?? DEFAULT_STALL_MS) / 2);

/** Tracks the silence of one turn from its output and from samples of its processes. */
export class OutputSilence {
  private readonly startedAt: number;
  private readonly stallMs: number;
  private lastSignAt: number | null = null;
  private sample: Sample | null = null;
  /** Time since which no activity was observed. Null before the first sample. */
  private stillSince: number | null = null;
  private lifelessSince: number | null = null;

  /** With `stallMs` null the default applies. Other code decides whether a stall stops the run. */
  constructor(startedAt: number, stallMs: number | null) {
    this.startedAt = startedAt;
    this.stallMs = stallMs ?? DEFAULT_STALL_MS;
  }

  addSign(at: number): void {
    this.lastSignAt = Math.max(at, this.lastSignAt ?? at);
    this.sample = null;
    this.stillSince = null;
    this.lifelessSince = null;
  }

  addSample(stats: ProcessStats, at: number): void {
    const isLifeless = !stats.alive || stats.stopped;
    this.lifelessSince = isLifeless ? (this.lifelessSince ?? at) : null;
    const isMoving = this.sample !== null && hasMoved(this.sample, stats, at);
    this.stillSince = isMoving ? at : (this.stillSince ?? at);
    this.sample = { ...stats, at };
  }

  state(now: number): Silence {
    const quietSince = this.lastSignAt ?? this.startedAt;
    const dead = this.dead();
    if (dead) return dead;
    const stalled = this.stalled(now, quietSince);
    if (stalled) return stalled;
    const duration = formatDuration(now - quietSince);
    if (this.lastSignAt === null && now - quietSince >= SLOW_START_MS)
      return {
        state: 'slow_start',
        since: quietSince,
        sentence: `No output since it started ${duration} ago${this.doing(now)}.`,
      };
    if (now - quietSince >= SILENT_MS)
      return { state: 'silent', since: quietSince, sentence: `No output for ${duration}${this.doing(now)}.` };
    return { state: 'working', since: quietSince, sentence: 'Running.' };
  }

  private dead(): Silence | null {
    const { sample, lifelessSince } = this;
    if (!sample || lifelessSince === null || sample.at - lifelessSince < DEAD_FOR_MS) return null;
    const sentence = sample.alive
      ? 'Its process is stopped by a signal and does nothing until it gets SIGCONT.'
      : 'Its process is gone, but its end has not been recorded.';
    return { state: 'dead', since: lifelessSince, sentence };
  }

  /** Only inactivity between samples counts, not the time before the first sample. */
  private stalled(now: number, quietSince: number): Silence | null {
    if (this.stillSince === null || !this.sample) return null;
    if (now - quietSince < this.stallMs || now - this.stillSince < this.stallMs) return null;
    const sentence = `No output for ${formatDuration(now - quietSince)}, and ${processes(this.sample)} used no CPU, read nothing and wrote nothing for ${formatDuration(now - this.stillSince)}.`;
    return { state: 'stalled', since: this.stillSince + this.stallMs, sentence };
  }

  private doing(now: number): string {
    if (!this.sample || this.stillSince === null) return '';
    if (this.stillSince === this.sample.at) return `; ${processes(this.sample)} busy`;
    return `; ${processes(this.sample)} waiting for ${formatDuration(now - this.stillSince)}`;
  }
}

/** A change in the number of processes is activity too, because a process was started or has ended. */
function hasMoved(before: Sample, now: ProcessStats, at: number): boolean {
  if (now.processes !== before.processes) return true;
  const seconds = Math.max(1, at - before.at) / 1000;
  if (now.cpuMs - before.cpuMs >= BUSY_CPU_SHARE * 1000 * seconds) return true;
  const bytes = (now.ioBytes ?? 0) - (before.ioBytes ?? 0);
  return bytes >= BUSY_BYTES_PER_SECOND * seconds;
}

const processes = ({ processes: count }: Sample): string =>
  count === 1 ? 'its process' : `its ${count} processes`;

function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}

interface StallWatchPorts {
  clock: Clock;
  live(): Iterable<LiveRun>;
  /** Whether the run has an open question, even if no call is waiting for the answer now. */
  isAsking(id: RunId): boolean;
  /** Stops a run that was silent for longer than its role allows. */
  stop(id: RunId): void;
  record(run: Run, body: EventBody): void;
  warn(message: string, cause: unknown): void;
}

const TICK_MS = 1_000;
const CHECK_INTERVAL_MS = 5_000;

/** Times in this type are on the monotonic clock. */
interface Watched {
  startedAt: number;
  silence: OutputSilence;
  reported: Silence;
  signAt: number | null;
  checkedAt: number;
}

/**
 * Watches runs without output and classifies them as slow, silent, stalled or dead. None of these states ends the
 * run.
 */
export class StallWatch {
  private readonly ports: StallWatchPorts;
  private readonly watched = new Map<RunId, Watched>();
  private readonly timer: NodeJS.Timeout;
  private isChecking = false;

  constructor(ports: StallWatchPorts) {
    this.ports = ports;
    this.timer = setInterval(() => void this.tick(), TICK_MS).unref();
  }

  /** Silence of a run. Null if the run recently had output, or is not running. */
  of(id: RunId): Silence | null {
    const reported = this.watched.get(id)?.reported;
    if (!reported || reported.state === 'working') return null;
    return { ...reported, since: wallTimeOf(this.ports.clock, reported.since) };
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async tick(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    const live = [...this.ports.live()].filter(({ process, turn }) => process && turn);
    const ids = new Set(live.map(({ run }) => run.id));
    for (const id of this.watched.keys()) if (!ids.has(id)) this.watched.delete(id);
    for (const entry of live)
      await this.check(entry).catch(thrown =>
        this.ports.warn(`The processes of ${entry.run.id} could not be checked`, thrown),
      );
    this.isChecking = false;
  }

  private async check(entry: LiveRun): Promise<void> {
    // A run that waits for another run or for an answer does not count as idle.
    const { waits, run: asker } = entry;
    // The processes of a machine that does not answer are unknown, so the run does not count as idle either.
    const isAway = entry.process!.isAway?.() ?? false;
    if (isAway || waits > 0 || this.ports.isAsking(asker.id) || this.hasLiveChild(entry))
      entry.lastSignAt = this.ports.clock.monotonic();
    const { run, process, turn, lastSignAt } = entry;
    const { clock } = this.ports;
    const { stallMs } = run.options;
    const watched = this.watchedOf(run.id, turn!.startedAt, stallMs);
    const quietSince = lastSignAt ?? watched.startedAt;
    if (lastSignAt !== null && lastSignAt !== watched.signAt) watched.silence.addSign(lastSignAt);
    watched.signAt = lastSignAt;
    const checkEvery = Math.min(CHECK_INTERVAL_MS, (stallMs ?? Number.POSITIVE_INFINITY) / 4);
    const now = clock.monotonic();
    if (now - quietSince >= silenceBeforeCheckMs(stallMs) && now - watched.checkedAt >= checkEvery) {
      watched.checkedAt = now;
      const stats = await process!.processStats();
      // Output that arrived during sampling outranks the sample.
      if (entry.lastSignAt === lastSignAt) watched.silence.addSample(stats, clock.monotonic());
    }
    const silence = isAway
      ? {
          state: 'away' as const,
          since: watched.reported.state === 'away' ? watched.reported.since : clock.monotonic(),
          sentence: `${run.options.machine} does not answer. The agent goes on there, and its output comes when the machine is back.`,
        }
      : watched.silence.state(clock.monotonic());
    if (silence.state !== watched.reported.state) {
      const state = silence.state === 'working' ? null : silence.state;
      this.ports.record(run, { type: 'run.quiet', state, text: silence.sentence });
    }
    watched.reported = silence;
    if (stallMs !== null && isOver(silence, stallMs, clock.monotonic())) this.ports.stop(run.id);
  }

  private hasLiveChild({ run }: LiveRun): boolean {
    for (const other of this.ports.live()) if (other.run.parentId === run.id) return true;
    return false;
  }

  private watchedOf(id: RunId, turnStartedAt: number, stallMs: number | null): Watched {
    const known = this.watched.get(id);
    if (known) return known;
    const startedAt = monotonicOf(this.ports.clock, turnStartedAt);
    const silence = new OutputSilence(startedAt, stallMs);
    const watched = {
      startedAt,
      silence,
      reported: silence.state(startedAt),
      signAt: null,
      checkedAt: Number.NEGATIVE_INFINITY,
    };
    this.watched.set(id, watched);
    return watched;
  }
}

/** A process that was stopped by a signal counts too, because it will not continue by itself. */
const isOver = ({ state, since }: Silence, stallMs: number, now: number): boolean =>
  state === 'stalled' || (state === 'dead' && now - since >= stallMs);
