import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { HubFacts } from '../../schema/machines/cluster.ts';

const Message = z.union([
  z.object({ ask: z.string() }),
  z.object({ answer: z.string(), hub: z.string(), facts: HubFacts }),
]);

export interface Answer {
  hub: string;
  facts: HubFacts;
  /** Times of this process's monotonic clock. */
  askedAt: number;
  heardAt: number;
}

/** Time for all connected hubs to answer. */
const ANSWER_TIMEOUT_MS = 3_000;

/** Asks all hubs of a database for facts about themselves, by notifications. A hub also answers its own questions. */
export class RollCall {
  readonly #hub: string;
  readonly #open = new Map<string, (hub: string, facts: HubFacts) => void>();
  #facts: (() => HubFacts) | null = null;

  constructor(hub: string) {
    this.#hub = hub;
  }

  answerWith(facts: () => HubFacts): void {
    this.#facts = facts;
  }

  /** Takes a notification. Returns the reply to send, if there is one. Another program could send anything here. */
  hear(payload: string): string | null {
    const { data } = Message.safeParse(parsed(payload));
    if (!data) return null;
    if ('answer' in data) this.#open.get(data.answer)?.(data.hub, data.facts);
    else if (this.#facts) return JSON.stringify({ answer: data.ask, hub: this.#hub, facts: this.#facts() });
    return null;
  }

  /** Resolves when all expected hubs have answered, or after three seconds. */
  async ask(expected: readonly string[], send: (payload: string) => Promise<void>): Promise<Answer[]> {
    const ask = randomBytes(8).toString('hex');
    const answers = new Map<string, Answer>();
    const done = Promise.withResolvers<void>();
    const timeout = setTimeout(done.resolve, ANSWER_TIMEOUT_MS);
    let askedAt = performance.now();
    this.#open.set(ask, (hub, facts) => {
      answers.set(hub, { hub, facts, askedAt, heardAt: performance.now() });
      if (expected.every(each => answers.has(each))) done.resolve();
    });
    try {
      askedAt = performance.now();
      await send(JSON.stringify({ ask }));
      await done.promise;
    } finally {
      clearTimeout(timeout);
      this.#open.delete(ask);
    }
    return [...answers.values()];
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
