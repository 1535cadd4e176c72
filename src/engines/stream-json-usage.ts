import type { EngineEvent, UsageFigure } from '../core/ports.ts';
import type { Usage } from '../schema/run.ts';
import { type Fields, fields, number, sum, text } from './json-line.ts';

export type Tokens = Pick<Usage, 'input' | 'output' | 'cached'>;

export interface UsageDialect {
  tokens(usage: Fields): Tokens;
  /** The figures of a result that count from the beginning of the chat. */
  runningTotals: readonly UsageFigure[];
}

/** Counts messages while the turn runs. One message may come as several lines, a line for each of its parts. */
export class MessageUsage {
  readonly #byMessage = new Map<string, Tokens>();
  readonly #dialect: UsageDialect;

  constructor(dialect: UsageDialect) {
    this.#dialect = dialect;
  }

  add(message: Fields): EngineEvent[] {
    const id = text(message.id);
    const tokens = this.#dialect.tokens(fields(message.usage));
    if (id === null || tokens.input === null) return [];
    this.#byMessage.set(id, tokens);
    const all = [...this.#byMessage.values()];
    const total = (figure: keyof Tokens) => sum(...all.map(tokens => tokens[figure]));
    return [usageEvent({ input: total('input'), output: total('output'), cached: total('cached') }, null)];
  }
}

export function resultUsage(result: Fields, { tokens, runningTotals }: UsageDialect): EngineEvent[] {
  const counted = tokens(fields(result.usage));
  const costUsd = number(result.total_cost_usd);
  if (counted.input === null && costUsd === null) return [];
  return [{ ...usageEvent(counted, costUsd), runningTotals }];
}

const usageEvent = (tokens: Tokens, costUsd: number | null) => ({
  type: 'usage' as const,
  usage: { ...tokens, costUsd, costIsEstimated: false },
});
