import { type Fields, fields, number, sum } from '../json-line.ts';
import { type Counted, type Tokens, total } from '../stream-json-usage.ts';

/** While a message is being written its output is not counted yet: what stands there is a placeholder. */
export const messageTokens = (usage: Fields): Tokens => ({ ...apiTokens(usage), output: null });

/**
 * What a result counts. `usage` leaves out sub-agents and helpers, and is 0 when the budget ended the turn. The count by
 * model has them all; the newer versions let that and the whole cost run on through a chat, and give the turn's own apart.
 */
export function resultCount(result: Fields): Counted {
  const byModel = Object.values(fields(result.model_usage_since_last_result ?? result.modelUsage)).map(
    fields,
  );
  if (byModel.length === 0)
    return { ...apiTokens(fields(result.usage)), costUsd: number(result.total_cost_usd), runningTotals: [] };
  return {
    ...total(byModel.map(modelTokens)),
    costUsd: sum(...byModel.map(model => number(model.costUSD))),
    runningTotals: [],
  };
}

/** The API counts what it read from its cache and what it wrote into it apart from the rest of the input. */
const apiTokens = (usage: Fields): Tokens => ({
  input: sum(
    number(usage.input_tokens),
    number(usage.cache_read_input_tokens),
    number(usage.cache_creation_input_tokens),
  ),
  output: number(usage.output_tokens),
  cached: number(usage.cache_read_input_tokens),
});

const modelTokens = (model: Fields): Tokens => ({
  input: sum(
    number(model.inputTokens),
    number(model.cacheReadInputTokens),
    number(model.cacheCreationInputTokens),
  ),
  output: number(model.outputTokens),
  cached: number(model.cacheReadInputTokens),
});
