import { describe, expect, test } from 'vitest';
import { ModelSpec } from '../../schema/model-spec.ts';
import { modelSecrets } from './secrets.ts';

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

test('the value of a secret header is secret by the name of the header, without its scheme', () => {
  const headers = { Authorization: 'Bearer abcdefgh', 'x-title': 'A long and public title' };
  expect(modelSecrets(model({ apiKeyEnv: null, headers }), {})).toEqual([
    { name: 'Authorization', value: 'abcdefgh' },
  ]);
});

describe('of its address', () => {
  const secretsOf = (baseUrl: string | null, env: Record<string, string> = {}, type = 'openai') =>
    modelSecrets(model({ type, baseUrl, apiKeyEnv: null }), env);

  test('the variables in user, password and query, and none of host and path', () => {
    const url = `https://\${WHO}:\${PASS}@\${HOST}/\${PATH_PART}?version=\${V}`;
    const env = {
      WHO: 'somebody',
      PASS: 'p+ss/w@rd',
      HOST: 'models.example',
      PATH_PART: 'openai',
      V: '2026-11',
    };
    expect(secretsOf(url, env)).toEqual([
      { name: 'WHO', value: 'somebody' },
      { name: 'PASS', value: 'p+ss/w@rd' },
      { name: 'V', value: '2026-11' },
      { name: 'password', value: 'p+ss/w@rd' },
    ]);
  });

  test('a variable that is named like one, wherever it stands', () => {
    expect(secretsOf(`https://gate.example/\${GATE_TOKEN}/v1`, { GATE_TOKEN: 'of-the-gate' })).toEqual([
      { name: 'GATE_TOKEN', value: 'of-the-gate' },
    ]);
  });

  test.each([
    ['a password', 'http://me:p%2Bss-word@localhost/v1', [{ name: 'password', value: 'p+ss-word' }]],
    ['a key as the user', 'http://abc%2Fdef@localhost/v1', [{ name: 'user', value: 'abc/def' }]],
    [
      'a key in the query',
      'https://localhost/v1?key=abc-def&api-version=2',
      [{ name: 'key', value: 'abc-def' }],
    ],
    ['nothing', 'https://localhost/v1?api-version=2', []],
    ['no address', 'localhost', []],
  ])('a secret in the address, in the file or in a variable: %s', (_, url, secrets) => {
    expect(secretsOf(url)).toEqual(secrets);
    expect(secretsOf(`\${ITS_URL}`, { ITS_URL: url })).toEqual(secrets);
    expect(secretsOf(null, { OPENAI_BASE_URL: url })).toEqual(secrets);
    expect(secretsOf(null, { GEMINI_BASE_URL: url }, 'google')).toEqual(secrets);
    expect(secretsOf(null, { GEMINI_BASE_URL: url })).toEqual([]);
  });

  test.each(['http://me:p/ss-word@localhost/', 'me:p/ss-word@localhost/'])(
    'a password in what is none, which is quoted when it is refused: %s',
    url => {
      expect(secretsOf(null, { OPENAI_BASE_URL: url })).toEqual([{ name: 'password', value: 'p/ss-word' }]);
    },
  );
});

test('a word that stands for a key, and one that is not set, are none', () => {
  expect(modelSecrets(model({}), { THE_KEY: 'ollama' })).toEqual([]);
  expect(modelSecrets(model({}), {})).toEqual([]);
});
