import type { EngineReader } from '../../core/ports/engine.ts';
import { amount, type Fields, fields, sum } from '../json-line.ts';
import { streamJsonReader } from '../stream-json-reader.ts';
import { type Counted, type Tokens, total } from '../stream-json-usage.ts';

export const claudeReader = (): EngineReader =>
  streamJsonReader({
    editing: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
    messageTokens,
    resultCount,
    isOwnText: text => LIMIT_TEXT.test(text),
  });

/** Some versions report a used up limit as a successful answer with this text. */
const LIMIT_TEXT =
  /^Claude AI usage limit reached\|\d{9,13}$|^You've hit your (?:[\w-]+ )?limit \u00b7 resets [^\n]{1,60}$/;

/** The output count of an unfinished message is only a placeholder, so it is left out. */
export const messageTokens = (usage: Fields): Tokens => ({ ...apiTokens(usage), output: null });

/**
 * Usage that a turn's `result` reports. Its field `usage` excludes sub-agents and helpers, and is 0 if the budget
 * ended the turn. Its counts by model include them. Newer versions count these and the cost from the beginning of the
 * chat, and report separately what was added since the last result.
 */
export function resultCount(result: Fields, before: Counted | null): Counted {
  const since = modelCounts(result.model_usage_since_last_result);
  // A field that is present but empty means that nothing was used since the last result. The totals of the chat
  // cannot show that.
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

/** The API counts cache reads and cache writes separately from other input. */
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
