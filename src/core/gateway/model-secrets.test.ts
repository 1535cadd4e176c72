import { expect, test } from 'vitest';
import { ModelSpec } from '../../schema/model-spec.ts';
import { modelSecrets } from './model-secrets.ts';

const model = (more: object) =>
  ModelSpec.parse({ type: 'openai', id: 'm', baseUrl: null, apiKeyEnv: 'THE_KEY', ...more });
// biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a header are written like this
const TEAM = 'team ${TEAM_ID}';

test('the key, and every variable of its headers, by the name of the variable', () => {
  const env = { THE_KEY: 'k-0123456789', TEAM_ID: 'team-of-seven', OTHER: 'of no concern' };
  expect(modelSecrets(model({ headers: { 'x-team': TEAM } }), env)).toEqual([
    { name: 'THE_KEY', value: 'k-0123456789' },
    { name: 'TEAM_ID', value: 'team-of-seven' },
  ]);
});

test('what stands in a header itself counts by the name of the header, without its scheme', () => {
  const headers = { Authorization: 'Bearer abcdefgh', 'x-title': 'A long and public title' };
  expect(modelSecrets(model({ apiKeyEnv: null, headers }), {})).toEqual([
    { name: 'Authorization', value: 'abcdefgh' },
  ]);
});

test('a word that stands for a key, and one that is not set, are none', () => {
  expect(modelSecrets(model({}), { THE_KEY: 'ollama' })).toEqual([]);
  expect(modelSecrets(model({}), {})).toEqual([]);
});
