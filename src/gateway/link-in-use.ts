import { type Json, type LinkRequest, UpstreamFault } from '../wire/upstream/link.ts';
import type { Connected } from './connect.ts';

const PING_MS = 5_000;

/** One link from its first request to its last: tells which faults speak against the server, and goes only when its last call is over. */
export class LinkInUse {
  readonly link: Connected;
  readonly #condemn: (fault: UpstreamFault) => void;
  #busy = 0;
  #left: (() => void) | null = null;
  #checking = false;

  constructor(link: Connected, condemn: (fault: UpstreamFault) => void) {
    this.link = link;
    this.#condemn = condemn;
  }

  async request(method: string, params: Json, options: LinkRequest): Promise<Json> {
    this.#busy += 1;
    try {
      return await this.link.request(method, params, options);
    } catch (error) {
      this.#judge(error);
      throw error;
    } finally {
      this.#busy -= 1;
      if (this.#busy === 0) this.#left?.();
    }
  }

  /** No new calls come; those under way are let finish. Settles when the link is gone. */
  async leave(): Promise<void> {
    if (this.#busy > 0)
      await new Promise<void>(resolve => {
        this.#left = resolve;
      });
    await this.link.close();
  }

  #judge(error: unknown): void {
    if (!(error instanceof UpstreamFault) || error.kind === 'answer' || error.kind === 'cancelled') return;
    if (error.kind === 'timeout') void this.#check(error);
    else this.#condemn(error);
  }

  /**
   * One call that took too long is no proof that the server hangs: it may be busy with just that one, and others share it.
   * A server that answers anything else meanwhile is well; one that does not is ended with all its calls.
   */
  async #check(fault: UpstreamFault): Promise<void> {
    if (this.#checking) return;
    this.#checking = true;
    const question = this.link.era === 'modern' ? 'server/discover' : 'ping';
    try {
      await this.link.request(question, {}, { timeoutMs: PING_MS });
    } catch (error) {
      if (error instanceof UpstreamFault && error.kind === 'answer') return;
      this.#condemn(fault);
      void this.link.close();
    } finally {
      this.#checking = false;
    }
  }
}
