export interface LifetimeOptions {
  lingerMs: number;
  /** Runs that have not ended. */
  isBusy(): boolean;
  callsInFlight(): number;
  end(reason: string): void;
}

/** Decides when the hub goes: idle for a while, asked to, or making way for a newer one between two calls. */
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

  /** Called whenever a call began or ended, or a run ended. */
  review(): void {
    if (this.isClosed) return;
    const { callsInFlight, end, lingerMs } = this.options;
    if (this.makesWay && callsInFlight() === 0)
      // Never in the middle of reading: the same chunk may hold the next call.
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

  /** Nobody is there any more who would start the newer one. */
  stay(): void {
    this.makesWay = false;
  }

  /** The hub stops: nothing is decided any more. */
  close(): void {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private get isIdle(): boolean {
    return this.clients === 0 && !this.options.isBusy() && this.options.callsInFlight() === 0;
  }
}
