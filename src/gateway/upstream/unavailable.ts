import type { UpstreamHealth } from '../../core/ports/gateway.ts';

/** The server was not asked, because it is out of order. */
export class Unavailable extends Error {
  readonly health: UpstreamHealth;
  /** Null: not by itself. */
  readonly retryAt: number | null;

  constructor(fault: string, health: UpstreamHealth, retryAt: number | null) {
    super(fault);
    this.name = 'Unavailable';
    this.health = health;
    this.retryAt = retryAt;
  }
}
