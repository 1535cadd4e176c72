import { type Behaviour, ECHO, type Tool } from './behaviour.ts';

const having = (what: string, ...schemas: object[]): Behaviour => ({
  what,
  comesUp: true,
  call: 'result',
  tools: () => [
    ECHO,
    ...schemas.map((inputSchema, at): Tool => ({ ...ECHO, name: `schema_${at}`, inputSchema })),
  ],
});

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

function nested(depth: number): object {
  let schema: object = { type: 'string' };
  for (let at = 0; at < depth; at++) schema = object({ a: schema });
  return schema;
}

/** Each definition is the one before it, twice: 2^n when it is written out. */
function doubling(levels: number, join: (ref: object) => object): object {
  const $defs: Record<string, object> = { d0: { type: 'string' } };
  for (let at = 1; at <= levels; at++) $defs[`d${at}`] = join({ $ref: `#/$defs/d${at - 1}` });
  return object({ bomb: { $ref: `#/$defs/d${levels}` } }, { $defs });
}

/** Schemas that cost whoever follows them. SCHEMA_URL is where the remote ones point: nobody must ever ask there. */
export const SCHEMAS = {
  'deep-schema': having('has a schema 2,000 levels deep', nested(2_000)),
  'doubling-refs': having(
    'has schemas that double with every reference',
    doubling(40, ref => ({ allOf: [ref, ref] })),
    doubling(40, ref => ({ anyOf: [ref, ref] })),
    doubling(40, ref => object({ a: ref, b: ref })),
  ),
  'circular-refs': having(
    'has a schema that refers to itself',
    object({ self: { $ref: '#' } }),
    object({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { $ref: '#/$defs/a' } } }),
  ),
  'remote-refs': having(
    'has schemas that are somewhere else',
    ...[process.env.SCHEMA_URL ?? 'http://127.0.0.1:9/schema.json', 'file:///etc/passwd'].map($ref =>
      object({ remote: { $ref } }, { $schema: $ref, $id: $ref }),
    ),
  ),
  'evil-patterns': having(
    'has schemas whose patterns take for ever to match',
    ...['^(a+)+$', '^(a|a)*$', '^(.*a){25}$', '([a-zA-Z]+)*\\d'].map(pattern =>
      object({ nonce: { type: 'string', pattern } }, { patternProperties: { [pattern]: {} } }),
    ),
  ),
  'prototype-schema': having(
    'has schemas with names that objects already have',
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"default":{}}}}'),
  ),
} satisfies Record<string, Behaviour>;
