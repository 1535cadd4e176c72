import { type Json, type LinkRequest, UpstreamFault } from '../../wire/upstream/link.ts';
import type { Connected } from './connect.ts';

const PROBE_MS = 5_000;
/** As often as this in a row, answering a probe does not make up for it. */
const MOST_LATE = 3;

export interface LinkJudge {
  /** A call ran out of time: nothing new is to be asked until it is known whether the server answers at all. */
  onDoubt(fault: UpstreamFault): void;
  /** It does. */
  onAnswer(): void;
  /** The server is out of order. */
  onFault(fault: UpstreamFault): void;
}

/** One link from its first request to its last: tells which faults speak against the server, and goes only when its last call is over. */
export class LinkInUse {
  readonly link: Connected;
  readonly #judge: LinkJudge;
  #busy = 0;
  #left: (() => void) | null = null;
  #isProbing = false;
  /** Probes answered. */
  #cleared = 0;
  /** How often in a row it was late, with no call answered in between. */
  #late = 0;
  #hasFailedCall = false;

  constructor(link: Connected, judge: LinkJudge) {
    this.link = link;
    this.#judge = judge;
  }

  /** A call failed in transport or ran out of time, or is about to because the link is gone. */
  get hasFailedCall(): boolean {
    return this.#hasFailedCall || this.#busy > 0;
  }

  async request(method: string, params: Json, options: LinkRequest): Promise<Json> {
    const clearedBefore = this.#cleared;
    this.#busy += 1;
    try {
      const result = await this.link.request(method, params, options);
      this.#late = 0;
      return result;
    } catch (error) {
      if (error instanceof UpstreamFault) this.#weigh(error, clearedBefore);
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

  #weigh(fault: UpstreamFault, clearedBefore: number): void {
    if (fault.kind === 'cancelled') return;
    if (fault.kind === 'answer') {
      this.#late = 0;
      return;
    }
    this.#hasFailedCall ||= fault.kind !== 'session';
    if (fault.kind === 'timeout') this.#wasLate(fault, clearedBefore);
    else this.#judge.onFault(fault);
  }

  #wasLate(fault: UpstreamFault, clearedBefore: number): void {
    if (this.#isProbing) return;
    // A call from before the last probe tells nothing that the probe was not about.
    if (clearedBefore === this.#cleared) this.#late += 1;
    if (this.#late < MOST_LATE) this.#judge.onDoubt(fault);
    else this.#judge.onFault(fault);
    void this.#probe(fault);
  }

  /**
   * The first retry, over the same link: the server may be busy with just that one call, and others share it. One that answers
   * nothing else either is ended with all its calls.
   */
  async #probe(fault: UpstreamFault): Promise<void> {
    this.#isProbing = true;
    const doesAnswer = await this.#doesAnswer();
    this.#isProbing = false;
    if (doesAnswer) {
      this.#cleared += 1;
      this.#judge.onAnswer();
    } else {
      this.#judge.onFault(fault);
      void this.link.close();
    }
  }

  async #doesAnswer(): Promise<boolean> {
    const question = this.link.era === 'modern' ? 'server/discover' : 'ping';
    try {
      await this.link.request(question, {}, { timeoutMs: PROBE_MS });
      return true;
    } catch (error) {
      return error instanceof UpstreamFault && error.kind === 'answer';
    }
  }
}
