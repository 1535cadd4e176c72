import { amount, type Fields, fields, sum } from '../json-line.ts';
import { type Counted, type Tokens, total } from '../stream-json-usage.ts';

/** While a message is being written its output is not counted yet: what stands there is a placeholder. */
export const messageTokens = (usage: Fields): Tokens => ({ ...apiTokens(usage), output: null });

/**
 * What the results of a turn count. `usage` leaves out sub-agents and helpers, and is 0 when the budget ended the turn. The
 * count by model has them all. Newer versions let it, and the whole cost, run on through a chat, and give apart what came
 * since the last result.
 */
export function resultCount(result: Fields, before: Counted | null): Counted {
  const since = modelCounts(result.model_usage_since_last_result);
  // There and empty, it says that nothing was used, which the count of the whole chat does not.
  if (result.model_usage_since_last_result !== undefined)
    return together([...(before ? [before] : []), ...since, NOTHING]);
  const byModel = modelCounts(result.modelUsage);
  if (byModel.length > 0) return together(byModel);
  return { ...apiTokens(fields(result.usage)), costUsd: amount(result.total_cost_usd), runningTotals: [] };
}

const NOTHING: Costs = { input: 0, output: 0, cached: 0, costUsd: 0 };

type Costs = Omit<Counted, 'runningTotals'>;

const modelCounts = (byModel: unknown): Costs[] =>
  Object.values(fields(byModel)).map(value => {
    const model = fields(value);
    return { ...modelTokens(model), costUsd: amount(model.costUSD) };
  });

const together = (all: readonly Costs[]): Counted => ({
  ...total(all),
  costUsd: sum(...all.map(({ costUsd }) => costUsd)),
  runningTotals: [],
});

/** The API counts what it read from its cache and what it wrote into it apart from the rest of the input. */
const apiTokens = (usage: Fields): Tokens => ({
  input: sum(
    amount(usage.input_tokens),
    amount(usage.cache_read_input_tokens),
    amount(usage.cache_creation_input_tokens),
  ),
  output: amount(usage.output_tokens),
  cached: amount(usage.cache_read_input_tokens),
});

const modelTokens = (model: Fields): Tokens => ({
  input: sum(
    amount(model.inputTokens),
    amount(model.cacheReadInputTokens),
    amount(model.cacheCreationInputTokens),
  ),
  output: amount(model.outputTokens),
  cached: amount(model.cacheReadInputTokens),
});
