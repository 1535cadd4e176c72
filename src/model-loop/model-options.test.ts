import { expect, test } from 'vitest';
import type { GenerationOptions, ModelSpec, ModelType } from '../schema/model-spec.ts';
import { addressOf, generationOf } from './model-options.ts';

const at = (type: ModelType, baseUrl: string | null, env: Record<string, string> = {}) =>
  addressOf({ type, baseUrl } as ModelSpec, env);

test.each([
  ['anthropic', 'https://api.anthropic.com/v1'],
  ['openai', 'https://api.openai.com/v1'],
  ['responses', 'https://api.openai.com/v1'],
  ['google', 'https://generativelanguage.googleapis.com/v1beta'],
] as const)('%s uses %s by default', (type, url) => {
  expect(at(type, null)).toEqual({ url, query: '', isDefaultHost: true });
});

test.each([
  ['anthropic', 'http://localhost:1', 'http://localhost:1/v1'],
  ['anthropic', 'http://localhost:1/v1/', 'http://localhost:1/v1'],
  ['anthropic', 'https://gate.example/anthropic', 'https://gate.example/anthropic/v1'],
  ['openai', 'http://localhost:11434', 'http://localhost:11434/v1'],
  ['openai', 'https://gate.example/api/paas', 'https://gate.example/api/paas'],
  ['responses', 'http://localhost:1/v1', 'http://localhost:1/v1'],
  ['google', 'http://localhost:1', 'http://localhost:1/v1beta'],
  ['google', 'http://localhost:1/v1beta', 'http://localhost:1/v1beta'],
] as const)('%s at %s uses %s', { tags: ['E3'] }, (type, given, url) => {
  expect(at(type, given)).toEqual({ url, query: '', isDefaultHost: false });
});

test.each([
  ['openai', 'http://localhost:1/v1/?a=1&b=2', 'http://localhost:1/v1', 'a=1&b=2'],
  ['anthropic', 'http://localhost:1?a=what?#top', 'http://localhost:1/v1', 'a=what?'],
  ['google', 'http://localhost:1/v1beta?', 'http://localhost:1/v1beta', ''],
] as const)('%s at %s uses %s with the query %j', (type, given, url, query) => {
  expect(at(type, given)).toEqual({ url, query, isDefaultHost: false });
});

test("the provider's variable sets the address, unless the file does", () => {
  const env = {
    ANTHROPIC_BASE_URL: 'http://localhost:1',
    GEMINI_BASE_URL: 'http://localhost:2',
    OPENAI_BASE_URL: '',
  };
  expect(at('anthropic', null, env).url).toBe('http://localhost:1/v1');
  expect(at('anthropic', 'http://localhost:3', env).url).toBe('http://localhost:3/v1');
  expect(at('google', null, env).url).toBe('http://localhost:2/v1beta');
  expect(at('openai', null, env).url).toBe('https://api.openai.com/v1');
});

test.each(['localhost:1', 'ftp://x', '', 'file:///etc/passwd'])('%j is refused', given => {
  expect(() => at('openai', given)).toThrow('http:// or https://');
});

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
