import { expect, test } from 'vitest';
import type { GenerationOptions, ModelSpec, ModelType } from '../schema/model-spec.ts';
import { generationOf } from './model-options.ts';

const asked = (type: ModelType, generation: GenerationOptions, isDefaultHost = false) =>
  generationOf({ type, generation } as ModelSpec, isDefaultHost);

test('common options are passed as common settings', () => {
  const generation = { temperature: 0.2, topP: 0.9, topK: 5, maxOutputTokens: 100, stopSequences: ['END'] };
  expect(asked('openai', generation)).toEqual({ settings: generation, providerOptions: {}, notes: [] });
});

test('a thinking level works for every provider', () => {
  expect(asked('google', { thinking: 'high' })).toMatchObject({ settings: { reasoning: 'high' }, notes: [] });
});

test.each([
  ['anthropic', 2048, { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } }],
  ['google', 2048, { google: { thinkingConfig: { thinkingBudget: 2048, includeThoughts: true } } }],
  ['anthropic', 'max', { anthropic: { effort: 'max' } }],
  ['responses', 'max', { openai: { store: false, reasoningEffort: 'max' } }],
] as const)('%s, thinking %s', (type, thinking, providerOptions) => {
  expect(asked(type, { thinking })).toEqual({ settings: {}, providerOptions, notes: [] });
});

test('a thinking budget in tokens is ignored with a note where only levels are supported', () => {
  expect(asked('openai', { thinking: 2048 })).toMatchObject({
    settings: {},
    providerOptions: {},
    notes: [expect.stringContaining('2048')],
  });
});

test("caching is requested only from the provider's own server", () => {
  const cache = { anthropic: { cacheControl: { type: 'ephemeral' } } };
  expect(asked('anthropic', {}, true).providerOptions).toEqual(cache);
  expect(asked('anthropic', {}, false).providerOptions).toEqual({});
});
