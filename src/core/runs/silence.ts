import type { Vitals } from '../ports/turns.ts';

/**
 * A run at work, by what it shows. None of these is an end.
 *
 * | State      | No sign                  | Its processes                                   |
 * | ---------- | ------------------------ | ----------------------------------------------- |
 * | working    | for less than below      | anything                                        |
 * | slow_start | since the start, 30 s    | there                                           |
 * | silent     | for 60 s                 | there; at work, or still for less than `stall`  |
 * | stalled    | for the stall limit      | there, and neither computed, read nor wrote for the stall limit |
 * | dead       | since it was found so    | gone, or held by a signal, with no exit record  |
 *
 * A sign is a whole line of output, growth of the output, or an event of the engine.
 */
export type SilenceState = 'working' | 'slow_start' | 'silent' | 'stalled' | 'dead';

export interface Silence {
  state: SilenceState;
  /** When it began to be so. */
  since: number;
  sentence: string;
}

export const DEFAULT_STALL_MS = 300_000;
const SLOW_START_MS = 30_000;
const SILENT_MS = 60_000;
const FIRST_LOOK_MS = 20_000;
/** A dying agent's exit record is written within moments: one look is not enough to call it dead. */
const DEAD_FOR_MS = 2_000;
/** Below these a process only keeps its timers and connections alive. */
const BUSY_CPU_SHARE = 0.01;
const BUSY_BYTES_PER_SECOND = 256;

interface Sample extends Vitals {
  at: number;
}

/** How long a turn is left alone before its processes are looked at. */
export const quietBeforeLook = (stallMs: number | null): number =>
  Math.min(FIRST_LOOK_MS, (stallMs ?? DEFAULT_STALL_MS) / 2);

/** One turn's silence. Told of signs and samples as they come; asked at any time. */
export class SilenceWatch {
  private readonly startedAt: number;
  private readonly stallMs: number;
  private lastSignAt: number | null = null;
  private sample: Sample | null = null;
  /** Nothing is known to have moved since; null while nobody has looked. */
  private stillSince: number | null = null;
  private lifelessSince: number | null = null;

  /** `stallMs` null: the default names the state. Whether a stall also stops the run is not decided here. */
  constructor(startedAt: number, stallMs: number | null) {
    this.startedAt = startedAt;
    this.stallMs = stallMs ?? DEFAULT_STALL_MS;
  }

  sign(at: number): void {
    this.lastSignAt = Math.max(at, this.lastSignAt ?? at);
    this.sample = null;
    this.stillSince = null;
    this.lifelessSince = null;
  }

  look(vitals: Vitals, at: number): void {
    const isLifeless = !vitals.alive || vitals.stopped;
    this.lifelessSince = isLifeless ? (this.lifelessSince ?? at) : null;
    const isMoving = this.sample !== null && hasMoved(this.sample, vitals, at);
    this.stillSince = isMoving ? at : (this.stillSince ?? at);
    this.sample = { ...vitals, at };
  }

  state(now: number): Silence {
    const quietSince = this.lastSignAt ?? this.startedAt;
    const dead = this.dead();
    if (dead) return dead;
    const stalled = this.stalled(now, quietSince);
    if (stalled) return stalled;
    const quiet = words(now - quietSince);
    if (this.lastSignAt === null && now - quietSince >= SLOW_START_MS)
      return {
        state: 'slow_start',
        since: quietSince,
        sentence: `Not a word since it started ${quiet} ago${this.doing(now)}.`,
      };
    if (now - quietSince >= SILENT_MS)
      return { state: 'silent', since: quietSince, sentence: `No sign for ${quiet}${this.doing(now)}.` };
    return { state: 'working', since: quietSince, sentence: 'At work.' };
  }

  private dead(): Silence | null {
    const { sample, lifelessSince } = this;
    if (!sample || lifelessSince === null || sample.at - lifelessSince < DEAD_FOR_MS) return null;
    const sentence = sample.alive
      ? 'Its process is held by a signal and does nothing until it gets SIGCONT.'
      : 'Its process is gone, but its end has not been recorded.';
    return { state: 'dead', since: lifelessSince, sentence };
  }

  /** Only what was seen to be still counts: time before the first look does not. */
  private stalled(now: number, quietSince: number): Silence | null {
    if (this.stillSince === null || !this.sample) return null;
    if (now - quietSince < this.stallMs || now - this.stillSince < this.stallMs) return null;
    const sentence = `No sign for ${words(now - quietSince)}, and ${processes(this.sample)} neither computed nor read or wrote for ${words(now - this.stillSince)}.`;
    return { state: 'stalled', since: this.stillSince + this.stallMs, sentence };
  }

  private doing(now: number): string {
    if (!this.sample || this.stillSince === null) return '';
    if (this.stillSince === this.sample.at) return `; ${processes(this.sample)} at work`;
    return `; ${processes(this.sample)} waiting for ${words(now - this.stillSince)}`;
  }
}

/** A process more or less is movement too: something was started, or came to its end. */
function hasMoved(before: Sample, now: Vitals, at: number): boolean {
  if (now.processes !== before.processes) return true;
  const seconds = Math.max(1, at - before.at) / 1000;
  if (now.cpuMs - before.cpuMs >= BUSY_CPU_SHARE * 1000 * seconds) return true;
  const bytes = (now.ioBytes ?? 0) - (before.ioBytes ?? 0);
  return bytes >= BUSY_BYTES_PER_SECOND * seconds;
}

const processes = ({ processes: count }: Sample): string =>
  count === 1 ? 'its one process' : `its ${count} processes`;

function words(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}
