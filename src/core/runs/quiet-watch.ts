import type { Clock } from '../../base/clock.ts';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { monotonicOf, wallTimeOf } from './clock-times.ts';
import type { LiveRun } from './live-run.ts';
import { quietBeforeLook, type Silence, SilenceWatch } from './silence.ts';

export interface QuietPorts {
  clock: Clock;
  live(): Iterable<LiveRun>;
  /** It has a question open: whether or not a call waits for the answer just now. */
  isAsking(id: RunId): boolean;
  /** Stops a run whose role allows no longer silence. */
  stop(id: RunId): void;
  tell(run: Run, body: EventBody): void;
  warn(message: string, cause: unknown): void;
}

const TICK_MS = 1_000;
const LOOK_EVERY_MS = 5_000;

/** Times are on the monotonic clock. */
interface Watched {
  startedAt: number;
  silence: SilenceWatch;
  told: Silence;
  signAt: number | null;
  lookedAt: number;
}

/** Looks at runs that say nothing, and tells slow, silent, stalled and dead ones apart. None of it is an end. */
export class QuietWatch {
  private readonly ports: QuietPorts;
  private readonly watched = new Map<RunId, Watched>();
  private readonly timer: NodeJS.Timeout;
  private isLooking = false;

  constructor(ports: QuietPorts) {
    this.ports = ports;
    this.timer = setInterval(() => void this.tick(), TICK_MS).unref();
  }

  /** How quiet a run is; null while it gives signs, or when it is not at work. */
  of(id: RunId): Silence | null {
    const told = this.watched.get(id)?.told;
    if (!told || told.state === 'working') return null;
    return { ...told, since: wallTimeOf(this.ports.clock, told.since) };
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async tick(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    const live = [...this.ports.live()].filter(({ process, turn }) => process && turn);
    const ids = new Set(live.map(({ run }) => run.id));
    for (const id of this.watched.keys()) if (!ids.has(id)) this.watched.delete(id);
    for (const entry of live)
      await this.look(entry).catch(thrown =>
        this.ports.warn(`What ${entry.run.id} does could not be looked at`, thrown),
      );
    this.isLooking = false;
  }

  private async look(entry: LiveRun): Promise<void> {
    // Who waits for a run of its own, or for an answer, is not idle.
    const { waits, run: asker } = entry;
    if (waits > 0 || this.ports.isAsking(asker.id) || this.hasLiveChild(entry))
      entry.lastSignAt = this.ports.clock.monotonic();
    const { run, process, turn, lastSignAt } = entry;
    const { clock } = this.ports;
    const { stallMs } = run.options;
    const watched = this.watchedOf(run.id, turn!.startedAt, stallMs);
    const quietSince = lastSignAt ?? watched.startedAt;
    if (lastSignAt !== null && lastSignAt !== watched.signAt) watched.silence.sign(lastSignAt);
    watched.signAt = lastSignAt;
    const lookEvery = Math.min(LOOK_EVERY_MS, (stallMs ?? Number.POSITIVE_INFINITY) / 4);
    const now = clock.monotonic();
    if (now - quietSince >= quietBeforeLook(stallMs) && now - watched.lookedAt >= lookEvery) {
      watched.lookedAt = now;
      const vitals = await process!.vitals();
      // A sign that came meanwhile counts more than what was seen before it.
      if (entry.lastSignAt === lastSignAt) watched.silence.look(vitals, clock.monotonic());
    }
    const silence = watched.silence.state(clock.monotonic());
    if (silence.state !== watched.told.state) {
      const state = silence.state === 'working' ? null : silence.state;
      this.ports.tell(run, { type: 'run.quiet', state, text: silence.sentence });
    }
    watched.told = silence;
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
    const silence = new SilenceWatch(startedAt, stallMs);
    const watched = {
      startedAt,
      silence,
      told: silence.state(startedAt),
      signAt: null,
      lookedAt: Number.NEGATIVE_INFINITY,
    };
    this.watched.set(id, watched);
    return watched;
  }
}

/** One that is held by a signal shows no sign either, and will not by itself. */
const isOver = ({ state, since }: Silence, stallMs: number, now: number): boolean =>
  state === 'stalled' || (state === 'dead' && now - since >= stallMs);
