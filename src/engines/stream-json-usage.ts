import type { EngineEvent, UsageFigure } from '../core/ports/engine.ts';
import type { Usage } from '../schema/run.ts';
import { type Fields, fields, sum, text } from './json-line.ts';

export type Tokens = Pick<Usage, 'input' | 'output' | 'cached'>;

export interface Counted extends Tokens {
  costUsd: number | null;
  /** Names of figures that count from the beginning of the chat. */
  runningTotals: readonly UsageFigure[];
}

/** A turn may have any number of messages, so only the sum of older messages is kept. */
const MAX_RECENT = 64;

/** Counts usage while the turn runs. A message may arrive in several lines, one for each part. */
export class MessageUsage {
  /** Recent messages, which may still get another line, because lines of sub-agents are interleaved. */
  readonly #recent = new Map<string, Tokens>();
  #before: Tokens = { input: null, output: null, cached: null };
  readonly #tokens: (usage: Fields) => Tokens;

  constructor(tokens: (usage: Fields) => Tokens) {
    this.#tokens = tokens;
  }

  add(message: Fields): EngineEvent[] {
    const id = text(message.id);
    const tokens = this.#tokens(fields(message.usage));
    if (id === null || tokens.input === null) return [];
    this.#recent.set(id, tokens);
    if (this.#recent.size > MAX_RECENT) this.#settleFirst();
    const all = total([this.#before, ...this.#recent.values()]);
    return usageEvent({ ...all, costUsd: null, runningTotals: [] });
  }

  #settleFirst(): void {
    const [first] = this.#recent;
    if (!first) return;
    this.#recent.delete(first[0]);
    this.#before = total([this.#before, first[1]]);
  }
}

export function usageEvent({ runningTotals, ...usage }: Counted): EngineEvent[] {
  if (usage.input === null && usage.costUsd === null) return [];
  return [
    {
      type: 'usage',
      usage: { ...usage, costIsEstimated: false },
      ...(runningTotals.length > 0 ? { runningTotals } : {}),
    },
  ];
}

export function total(all: readonly Tokens[]): Tokens {
  const of = (figure: keyof Tokens) => sum(...all.map(tokens => tokens[figure]));
  return { input: of('input'), output: of('output'), cached: of('cached') };
}
