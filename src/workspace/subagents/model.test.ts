import { expect, test } from 'vitest';
import { SubagentDefaults, SubagentModel } from '../../schema/subagent.ts';
import { Findings } from './findings.ts';
import { modelSpecOf } from './model.ts';

const ENV = { KEY: 'k', HOST: 'models.example', TOKEN: 't', STRANGE: 'a b/c' };

function specOf(model: object, defaults: object = {}) {
  const findings = new Findings();
  const given = SubagentModel.parse({ ref: 'm', id: 'x', type: 'openai', api_key_env: 'KEY', ...model });
  const spec = modelSpecOf({ model: given, path: ['models', 0] }, SubagentDefaults.parse(defaults), {
    env: ENV,
    folder: '/f',
    findings,
  });
  return {
    spec,
    found: findings.all.map(({ severity, path, message }) => `${severity} ${path}: ${message}`),
  };
}

test.each([
  ['anthropic', undefined, 'anthropic', null],
  ['anthropic', 'https://gateway.example/a/', 'anthropic', 'https://gateway.example/a/'],
  ['openai', 'https://gateway.example/v1', 'openai', 'https://gateway.example/v1'],
  ['responses', undefined, 'responses', null],
  ['gemini', 'https://gateway.example', 'google', 'https://gateway.example'],
  ['google', undefined, 'google', null],
  ['groq', undefined, 'openai', 'https://api.groq.com/openai/v1'],
  ['zai', 'https://$HOST/zai/', 'openai', `https://\${HOST}/zai/`],
])('type %s at %s speaks %s at %s', (type, base_url, spoken, baseUrl) => {
  const { spec, found } = specOf({ type, base_url });
  expect(spec).toMatchObject({ type: spoken, baseUrl });
  expect(found).toEqual([]);
});

test('settings of the model outrank the defaults, key by key', () => {
  const { spec } = specOf(
    { max_output: 9000, generationDefaults: { temperature: 1, thinkingBudget: '4000' } },
    { generationParams: { temperature: 0.2, topP: 0.5, maxGenerationTokens: 100, stopSequences: ['.'] } },
  );
  expect(spec!.generation).toEqual({
    ...{ temperature: 1, topP: 0.5, maxOutputTokens: 100, stopSequences: ['.'], thinking: 4000 },
  });
  expect(specOf({ max_output: 9000, generationParams: { thinkingBudget: 'high' } }).spec!.generation).toEqual(
    {
      ...{ maxOutputTokens: 9000, thinking: 'high' },
    },
  );
});

test('prices need both halves', () => {
  const both = { input_cost_per_million: 0, output_cost_per_million: 15, cache_read_cost_per_million: 0.5 };
  expect(specOf(both).spec!.prices).toEqual({ input: 0, output: 15, cacheRead: 0.5, cacheWrite: null });
  expect(specOf({}).spec!.prices).toBeNull();
  const half = specOf({ input_cost_per_million: 1 });
  expect(half.spec!.prices).toBeNull();
  expect(half.found).toEqual([
    'warning models.0: the model "m" has only one of its two prices, so its cost is unknown',
  ]);
});

test('the values of variables in the address stay out, are there, and make an address', () => {
  const at = (base_url: string) => specOf({ base_url });
  expect(at('http://me:$TOKEN@$HOST/v1?key=$KEY').spec!.baseUrl).toBe(
    `http://me:\${TOKEN}@\${HOST}/v1?key=\${KEY}`,
  );
  expect(at('http://$NOWHERE/').found).toEqual(['error models.0.base_url: the variable NOWHERE is not set']);
  expect(at('$HOST/v1').found).toEqual([
    'error models.0.base_url: "models.0.base_url" is not an http or https URL',
  ]);
  expect(at('http://$STRANGE/v1').found).toEqual([
    'error models.0.base_url: "models.0.base_url" has STRANGE as its host, whose value is no host',
  ]);
});

test('the values of variables in headers stay out, and are there', () => {
  const headers = (text: string) =>
    specOf({ patchRequest: { includeHeaders: { 'X-Token': text, 'X-N': 1 } } });
  expect(headers('Bearer $TOKEN').spec!.headers).toEqual({ 'X-Token': `Bearer \${TOKEN}`, 'X-N': '1' });
  expect(headers('$NOWHERE').found).toEqual([
    'error models.0.patchRequest.includeHeaders.X-Token: the variable NOWHERE is not set',
  ]);
  expect(headers(`\${A:-b}`).found[0]).toContain('is not a variable');
});
