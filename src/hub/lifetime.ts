export interface LifetimeOptions {
  lingerMs: number;
  /** Whether runs or hooks have not ended. */
  isBusy(): boolean;
  callsInFlight(): number;
  end(reason: string): void;
}

/** Decides when the hub stops: after being idle for a while, or between two calls to make way for a newer hub. */
export class Lifetime {
  private readonly options: LifetimeOptions;
  private clients = 0;
  private timer: NodeJS.Timeout | null = null;
  private makesWay = false;
  private isClosed = false;

  constructor(options: LifetimeOptions) {
    this.options = options;
    this.review();
  }

  onClients(count: number): void {
    this.clients = count;
    this.review();
  }

  /** Called whenever a call begins or ends, or a run ends. */
  review(): void {
    if (this.isClosed) return;
    const { callsInFlight, end, lingerMs } = this.options;
    if (this.makesWay && callsInFlight() === 0)
      // Not while a chunk is being read: it may hold the next call.
      setImmediate(() => {
        if (this.makesWay && callsInFlight() === 0) end('a newer version takes over');
      });
    if (!this.isIdle && this.timer) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (this.isIdle && !this.timer)
      this.timer = setTimeout(() => {
        this.timer = null;
        if (this.isIdle) end('idle');
      }, lingerMs);
  }

  makeWay(): void {
    this.makesWay = true;
    this.review();
  }

  /** The client that would start the newer hub is gone. */
  stay(): void {
    this.makesWay = false;
  }

  /** The hub stops: no timer is set any more. */
  close(): void {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private get isIdle(): boolean {
    return this.clients === 0 && !this.options.isBusy() && this.options.callsInFlight() === 0;
  }
}
