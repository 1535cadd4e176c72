import { randomBytes } from 'node:crypto';
import type { OutputStream } from '../core/ports/run-files.ts';
import type { RunId } from '../schema/ids.ts';

/** What a ticket is good for. Only the user gets one, so whoever shows it acts as the user, in this and in nothing else. */
export type Errand =
  | { purpose: 'live' }
  | { purpose: 'download'; runId: RunId; turn: number; stream: OutputStream }
  | { purpose: 'open'; path: string };

export const TICKET_MS = 30_000;
const MOST = 1_000;

/** Secrets for addresses, which end up in histories and process lists: good once, for one thing, and not for long. */
export class Tickets {
  private readonly issued = new Map<string, { errand: Errand; expiresAt: number }>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  issue(errand: Errand): { ticket: string; expiresAt: number } {
    this.forgetExpired();
    const ticket = randomBytes(32).toString('base64url');
    const expiresAt = this.now() + TICKET_MS;
    this.issued.set(ticket, { errand, expiresAt });
    return { ticket, expiresAt };
  }

  /** Null: nobody was given it, it was used, it is too late, or it is for something else. It is used up either way. */
  redeem<P extends Errand['purpose']>(ticket: string, purpose: P): Extract<Errand, { purpose: P }> | null {
    const found = this.issued.get(ticket);
    this.issued.delete(ticket);
    if (!found || found.expiresAt <= this.now() || found.errand.purpose !== purpose) return null;
    return found.errand as Extract<Errand, { purpose: P }>;
  }

  /** The oldest come first. */
  private forgetExpired(): void {
    for (const [ticket, { expiresAt }] of this.issued) {
      if (expiresAt > this.now() && this.issued.size < MOST) return;
      this.issued.delete(ticket);
    }
  }
}
