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

  constructor(options: LifetimeOptions) {
    this.options = options;
    this.review();
  }

  onClients(count: number): void {
    this.clients = count;
    this.review();
  }

  /** Called whenever a call or a run ended. */
  review(): void {
    const { isBusy, callsInFlight, end, lingerMs } = this.options;
    if (this.makesWay && callsInFlight() === 0) return end('a newer version takes over');
    const idle = this.clients === 0 && !isBusy();
    if (!idle && this.timer) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (idle && !this.timer)
      this.timer = setTimeout(() => {
        this.timer = null;
        if (this.clients === 0 && !isBusy()) end('idle');
      }, lingerMs);
  }

  makeWay(): void {
    this.makesWay = true;
    this.review();
  }
}
