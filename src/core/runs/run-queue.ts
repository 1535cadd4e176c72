import type { LiveRun } from './live-run.ts';

interface QueuePorts {
  live(): Iterable<LiveRun>;
  /** How many may have a place at once. */
  places(): number;
  start(entry: LiveRun): void;
}

/** Who waits for a place, in the order of asking, and who has one. */
export class RunQueue {
  private readonly ports: QueuePorts;
  private readonly waiting: LiveRun[] = [];
  private closed = false;

  constructor(ports: QueuePorts) {
    this.ports = ports;
  }

  /** It waits for `pump`. */
  add(entry: LiveRun): void {
    this.waiting.push(entry);
  }

  /** False when it was not waiting. */
  remove(entry: LiveRun): boolean {
    const at = this.waiting.indexOf(entry);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  has(entry: LiveRun): boolean {
    return this.waiting.includes(entry);
  }

  /** Places that nobody has or waits for. */
  get free(): number {
    return Math.max(0, this.ports.places() - this.taken - this.waiting.length);
  }

  /** Starts what may start. */
  pump(): void {
    while (!this.closed && this.waiting.length > 0 && this.taken < this.ports.places()) {
      const entry = this.waiting.shift()!;
      entry.isActive = true;
      this.ports.start(entry);
    }
  }

  close(): void {
    this.closed = true;
  }

  private get taken(): number {
    let count = 0;
    for (const { isActive, waits } of this.ports.live()) if (isActive && waits === 0) count++;
    return count;
  }
}
