import { expect, test } from 'vitest';
import { ModelSpec } from '../../schema/model-spec.ts';
import { isInHeaders, withFilledHeaders } from './filled-headers.ts';

const model = ModelSpec.parse({
  ...{ type: 'openai', id: 'x', baseUrl: null, apiKeyEnv: null },
  headers: { 'X-Token': `Bearer \${TOKEN}`, 'X-Title': 'costs $5' },
});

test('headers go out with the values of their variables', () => {
  expect(withFilledHeaders(model, { TOKEN: 'a$b' }).headers).toEqual({
    ...{ 'X-Token': 'Bearer a$b', 'X-Title': 'costs $5' },
  });
  expect(withFilledHeaders(model, { TOKEN: 'x' })).toMatchObject({ type: 'openai', id: 'x' });
});

test('a variable of theirs is known to be needed', () => {
  expect(isInHeaders(model, 'TOKEN')).toBe(true);
  expect(isInHeaders(model, 'OTHER')).toBe(false);
});
