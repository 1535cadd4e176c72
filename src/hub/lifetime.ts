export interface LifetimeOptions {
  lingerMs: number;
  /** True while any run or hook has not ended. */
  isBusy(): boolean;
  callsInFlight(): number;
  end(reason: string): void;
}

/** Decides when the hub stops: after being idle for a while, or between two calls when a newer hub should take over. */
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
      // Checks again after the current chunk was read, because the chunk may contain another call.
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

  /** Called when the client that would start the newer hub is gone, so that this hub stays. */
  stay(): void {
    this.makesWay = false;
  }

  /** Called when the hub stops: no timer is set from now on. */
  close(): void {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private get isIdle(): boolean {
    return this.clients === 0 && !this.options.isBusy() && this.options.callsInFlight() === 0;
  }
}
