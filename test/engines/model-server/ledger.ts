/** Every request the server saw, and what it counted for it: tests compare this with what Squad says. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Turn, Usage } from './conversation.ts';

export interface ModelCall {
  /** Milliseconds since the epoch, with fractions. */
  at: number;
  method: string;
  path: string;
  userAgent: string;
  headers: IncomingHttpHeaders;
  /** All of it, as it came. */
  body: string;
  /** This field and the next ones belong to model requests; probes have none of them. */
  model: string | null;
  tag: string | null;
  step: number | null;
  tools: string[];
  system: string;
  /** The user's message with the directive. */
  prompt: string;
  /** The whole conversation so far. */
  turns: Turn[];
  /** Results of tools so far, in order. */
  toolResults: string[];
  /** HTTP status that was sent; null while the request hangs. */
  status: number | null;
  /** Null when the model did not answer. */
  usage: Usage | null;
}

export interface UsageTotal extends Usage {
  answers: number;
}

type Filter = Partial<Pick<ModelCall, 'tag' | 'model'>>;

export class Ledger {
  readonly requests: ModelCall[] = [];
  readonly #waiting = new Set<() => void>();

  add(call: ModelCall): void {
    this.requests.push(call);
    this.changed();
  }

  /** A request's answer was sent. */
  changed(): void {
    for (const look of this.#waiting) look();
  }

  /** How often this step was asked for before. */
  attempts(tag: string | null, step: number): number {
    return this.requests.filter(call => call.tag === tag && call.step === step).length;
  }

  usage({ tag, model }: Filter = {}): UsageTotal {
    const total = { answers: 0, input: 0, output: 0, cached: 0 };
    for (const call of this.requests) {
      if (!call.usage || (tag !== undefined && call.tag !== tag)) continue;
      if (model !== undefined && call.model !== model) continue;
      total.answers++;
      total.input += call.usage.input;
      total.output += call.usage.output;
      total.cached += call.usage.cached;
    }
    return total;
  }

  first(tag: string): ModelCall | undefined {
    return this.requests.find(call => call.tag === tag);
  }

  /** Resolves with the first request that fits, past or to come. */
  waitFor(fits: (call: ModelCall) => boolean, limitMs: number): Promise<ModelCall> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const call = this.requests.find(fits);
        if (!call) return;
        stop();
        resolve(call);
      };
      const timer = setTimeout(() => {
        stop();
        const seen = this.requests.map(({ path, tag, step, status }) => `${path} ${tag} ${step} ${status}`);
        reject(new Error(`no such model request within ${limitMs} ms; seen: ${seen.join('; ') || 'none'}`));
      }, limitMs);
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
