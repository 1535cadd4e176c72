const EVIL = [
  '^(a+)+$',
  '^(a|a)*$',
  '^(a|aa)+$',
  '^(.*a){25}$',
  '^([a-zA-Z]+)*\\d$',
  '(x+x+)+y',
  '^(\\w+\\s?)*$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(.*)*\\1$',
  '^((ab)*)+$',
  '(a?){40}a{40}',
  '^(?:a(?:b)*)*c$',
  '^\\s*(\\S+\\s*)*$',
  '(?=(a+))\\1*b',
  '^(?:(?:a+)+)+$',
  '([^,]*,?)*;',
  '^(?:[^"\\\\]|\\\\.)*(?:[^"\\\\]|\\\\.)*"$',
  '^(\\d+)*[.]$',
  '(?:\\s|\\s\\s)*x',
  '^([a-z0-9]+[-._]?)*@$',
  // As they were found in programs: addresses, links, versions, comments, colours, numbers, markup.
  '^([a-zA-Z0-9_.-])+@(([a-zA-Z0-9-])+.)+([a-zA-Z0-9]{2,4})+$',
  '^([\\w.-]+)*@([\\w-]+)*$',
  '(https?:\\/\\/)?([\\da-z.-]+)\\.([a-z.]{2,6})([\\/\\w .-]*)*\\/?$',
  '^(\\/[^\\/ ]*)+\\/?$',
  '^(([^:]+):)*x$',
  '^v?(\\d+\\.?)*(-[a-z0-9.]+)*$',
  '\\/\\*(.|\\s)*\\*\\/',
  '(\\/\\/.*\\n?)*x',
  '^#?([a-f0-9]+,?\\s*)+;$',
  '^-?(\\d+,?)*(\\.\\d+)*%$',
  '<([a-z]+)(\\s+[^>]*)*>',
  '<!--(.|\\n)*-->',
  '(<[^>]*>\\s*)*$x',
  '^(?:&\\w+;|[^&])*$x',
  '"(\\\\"|[^"])*"x',
  "'(\\\\.|[^\\\\'])*'y",
  '^(\\s*\\w+\\s*=\\s*\\w*;?)*$x',
  '^([^=]+=[^&]*&?)*#$',
  '(\\s+)+$x',
  '^(\\r\\n|\\r|\\n|.)*\\0$',
  '(a*)*b',
  '(a*)+b',
  '(a+){10,}b',
  '(a{1,10}){1,10}b',
  '(?:a|b|ab)*c',
  '(?:a|a?)+b',
  '(.+)+b',
  '(.*?)*b',
  '(?:.|.)*b',
  '([ab]*a[ab]*)*c',
  '(a|b|c|d|e|[a-e])+f',
  '^(a+b?)*c$',
  '^(?:\\d|\\d\\d|\\d\\d\\d)+x$',
  '^(\\w|\\W)*\\d$',
  '(?<n>a+)+\\k<n>b',
  '(?:(?=a)a+)+b',
  '(?<=a+)+b',
  '(?:a+)+(?!a)b',
  '^(?:a?a?a?a?)*b$',
  '((((a+)+)+)+)+b',
  '^(x+)+(y+)+(z+)+$0',
  '(\\p{L}+\\s?)*\\d',
];

/** So many of them also as patterns of names: the rest would only take longer. */
const FEW = 20;

/** A schema that is short but expands to 2^60 nodes when its references are followed. */
const doubling = (join: (ref: object) => object) => {
  const $defs: Record<string, object> = { d0: { type: 'string' } };
  for (let at = 1; at <= 60; at++) $defs[`d${at}`] = join({ $ref: `#/$defs/d${at - 1}` });
  return { type: 'object', properties: { bomb: { $ref: '#/$defs/d60' } }, $defs };
};

/** More than sixty schemas that never end for whoever compiles or follows them. `url` is where the remote ones point. */
export const schemaBombs = (url: string): object[] => [
  ...EVIL.map(pattern => ({ type: 'object', properties: { a: { type: 'string', pattern } } })),
  ...EVIL.slice(0, FEW).map(pattern => ({
    type: 'object',
    patternProperties: { [pattern]: { type: 'string' } },
  })),
  ...EVIL.slice(0, FEW).map(pattern => ({
    type: 'object',
    propertyNames: { pattern },
    additionalProperties: true,
  })),
  doubling(ref => ({ allOf: [ref, ref] })),
  doubling(ref => ({ anyOf: [ref, ref] })),
  doubling(ref => ({ oneOf: [ref, { not: ref }] })),
  doubling(ref => ({ type: 'object', properties: { a: ref, b: ref } })),
  { type: 'object', properties: { self: { $ref: '#' } } },
  { type: 'object', $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
  { type: 'object', properties: { a: { $dynamicRef: '#here' } }, $dynamicAnchor: 'here' },
  { type: 'object', properties: { a: { $ref: `${url}/ref.json` } } },
  { type: 'object', $schema: `${url}/schema.json` },
  { type: 'object', $id: `${url}/id.json`, properties: { a: { $ref: 'other.json' } } },
  { type: 'object', properties: { a: { type: 'array', minItems: 1e308, uniqueItems: true } } },
  { type: 'object', properties: { a: { multipleOf: 5e-324 }, b: { enum: Array(10_000).fill('x') } } },
];

/** Texts on which those patterns do not come to an end. */
export const ENDLESS_INPUTS = [
  'a'.repeat(40_000),
  `${'a'.repeat(40_000)}!`,
  'x'.repeat(40_000),
  ' '.repeat(40_000),
];

export const EVIL_PATTERNS: readonly string[] = EVIL;
