import type { JSONValue, LanguageModelCallOptions } from 'ai';
import type { ModelSpec } from '../schema/model-spec.ts';

export interface Generation {
  settings: LanguageModelCallOptions;
  providerOptions: Record<string, Record<string, JSONValue>>;
  /** What was asked for and cannot be had. */
  notes: string[];
}

type Effort = NonNullable<LanguageModelCallOptions['reasoning']>;
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] satisfies Effort[];

/** How the model is asked, in the SDK's words. */
export function generationOf(spec: ModelSpec, isUsual: boolean): Generation {
  const { thinking, ...settings } = spec.generation;
  const own = ownOptions(spec, isUsual);
  if (thinking === undefined) return { settings, providerOptions: own, notes: [] };
  if (typeof thinking === 'string' && EFFORTS.includes(thinking))
    return { settings: { ...settings, reasoning: thinking as Effort }, providerOptions: own, notes: [] };
  const [provider, more] = thinkingOptions(spec.type, thinking);
  if (more === null)
    return {
      settings,
      providerOptions: own,
      notes: [
        `thinking: ${thinking} is left out: this provider takes a word (low, medium, high), not a number of tokens.`,
      ],
    };
  return { settings, providerOptions: { ...own, [provider]: { ...own[provider], ...more } }, notes: [] };
}

/** What every conversation wants of its provider. */
function ownOptions({ type }: ModelSpec, isUsual: boolean): Generation['providerOptions'] {
  // The conversation so far is sent again with every model turn: read from the cache it costs a tenth.
  if (type === 'anthropic' && isUsual) return { anthropic: { cacheControl: { type: 'ephemeral' } } };
  // The chat is kept here, whole, and not also there.
  if (type === 'responses') return { openai: { store: false } };
  return {};
}

function thinkingOptions(
  type: ModelSpec['type'],
  thinking: number | string,
): [provider: string, options: Record<string, JSONValue> | null] {
  const isNumber = typeof thinking === 'number';
  if (type === 'anthropic')
    return [
      type,
      isNumber ? { thinking: { type: 'enabled', budgetTokens: thinking } } : { effort: thinking },
    ];
  if (type === 'google') {
    const depth = isNumber ? { thinkingBudget: thinking } : { thinkingLevel: thinking };
    return [type, { thinkingConfig: { ...depth, includeThoughts: true } }];
  }
  return ['openai', isNumber ? null : { reasoningEffort: thinking }];
}
