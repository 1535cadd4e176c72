const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const deepObject = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** JSON values as text that break who trusts that they are ordinary. */
export const JSON_TRICKS: Record<string, string> = {
  'own __proto__': '{"__proto__":{"polluted":true}}',
  'nested __proto__': '{"a":{"__proto__":{"polluted":true}}}',
  'listed __proto__': '[{"__proto__":{"polluted":true}}]',
  'constructor.prototype': '{"constructor":{"prototype":{"polluted":true}}}',
  'escaped __proto__': '{"\\u005f_proto__":{"polluted":true}}',
  toString: '{"toString":"x","valueOf":1,"hasOwnProperty":null,"then":{"length":1}}',
  toJSON: '{"toJSON":"x"}',
  'a key twice': '{"nonce":"one","nonce":"two"}',
  'depth 10,000': deep(10_000),
  'objects 10,000 deep': deepObject(10_000),
  'a million elements': `[${'0,'.repeat(999_999)}0]`,
  'many keys': `{${Array.from({ length: 50_000 }, (_, at) => `"k${at}":0`).join()}}`,
  'big numbers': '[1e999,-1e999,123456789012345678901234567890,0.1e-400,-0]',
  'lone surrogates': '["\\ud800","\\udc00x","\\ud83d"]',
  'NUL and controls': '["\\u0000\\u0001\\u001f\\u007f\\u0085"]',
  'a long string': `"${'x'.repeat(1_000_000)}"`,
  'an empty key': '{"":1,"\\u0000":2}',
};
