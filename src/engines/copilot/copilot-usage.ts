import type { EngineEvent, UsageFigure } from '../../core/ports/engine.ts';
import { amount, fields, fieldsOf, sum } from '../json-line.ts';

const TOTALS: readonly UsageFigure[] = ['input', 'output', 'cached'];

/** Its usage file counts from the beginning of the chat, over every model. Input includes what came from the cache. */
export function usageInFile(content: string | null): EngineEvent[] {
  const models = Object.values(fields(fieldsOf(content ?? '')?.modelMetrics)).map(model =>
    fields(fields(model).usage),
  );
  const total = (figure: string) => sum(...models.map(model => amount(model[figure])));
  const [input, output, cached] = [total('inputTokens'), total('outputTokens'), total('cacheReadTokens')];
  if (input === null && output === null) return [];
  return [
    {
      type: 'usage',
      usage: { input, output, cached, costUsd: null, costIsEstimated: false },
      runningTotals: TOTALS,
    },
  ];
}
