import { expect, test } from 'vitest';
import { ModelSpec } from '../../schema/model-spec.ts';
import { filledModel, isVariableOf } from './filled-model.ts';

const model = ModelSpec.parse({
  ...{ type: 'openai', id: 'x', apiKeyEnv: null },
  baseUrl: `http://me:\${GATE_PASS}@127.0.0.1:8080/v1?key=\${QUERY_KEY}`,
  headers: { 'X-Token': `Bearer \${TOKEN}`, 'X-Title': 'costs $5' },
});

const plain = { ...model, baseUrl: null };

test('headers go out with the values of their variables', () => {
  expect(filledModel(plain, { TOKEN: 'a$b' }).headers).toEqual({
    ...{ 'X-Token': 'Bearer a$b', 'X-Title': 'costs $5' },
  });
  expect(filledModel(plain, { TOKEN: 'x' })).toMatchObject({ type: 'openai', id: 'x', baseUrl: null });
});

test('so does the address, and no value leads to another host', () => {
  const { baseUrl } = filledModel(model, { TOKEN: 'x', GATE_PASS: 'p@evil.example/', QUERY_KEY: 'a&b=c' });
  const url = new URL(baseUrl!);
  expect([url.host, decodeURIComponent(url.password)]).toEqual(['127.0.0.1:8080', 'p@evil.example/']);
  expect([...url.searchParams]).toEqual([['key', 'a&b=c']]);
  const elsewhere = { ...model, baseUrl: `http://\${HOST}/v1` };
  expect(() => filledModel(elsewhere, { TOKEN: 'x', HOST: 'a/b?c' })).toThrow(
    'The address of the model (base_url) has HOST as its host, whose value is no host',
  );
});

test('a variable of either is known to be needed', () => {
  for (const name of ['TOKEN', 'GATE_PASS', 'QUERY_KEY']) expect(isVariableOf(model, name)).toBe(true);
  expect(isVariableOf(model, 'OTHER')).toBe(false);
});
