import { stripTypeScriptTypes } from 'node:module';
import { expect, test } from 'vitest';
import type { CodeTool } from './code-mode.ts';
import { declare, nameTools, typeOfSchema } from './schema-type.ts';
import { tool } from './testing/sandboxes.ts';

const type = (schema: unknown) => typeOfSchema(schema, 'X').type.replaceAll(/\s+/g, ' ');

test.each<[unknown, string]>([
  [true, 'unknown'],
  [{}, 'unknown'],
  [null, 'unknown'],
  ['text', 'unknown'],
  [false, 'never'],
  [{ type: 'string' }, 'string'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'null' }, 'null'],
  [{ type: 'strange' }, 'unknown'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: ['string', 'strange'] }, 'unknown'],
  [{ type: 'string', nullable: true }, 'string | null'],
  [{ const: 'a' }, '"a"'],
  [{ const: null }, 'null'],
  [{ const: { a: 1 } }, 'unknown'],
  [{ enum: ['a', 2, true, null] }, '"a" | 2 | true | null'],
  [{ enum: ['a', {}] }, 'unknown'],
  [{ enum: [] }, 'unknown'],
  [{ type: 'array' }, 'Array<unknown>'],
  [{ type: 'array', items: { type: ['string', 'number'] } }, 'Array<string | number>'],
  [{ items: { type: 'string' } }, 'Array<string>'],
  [
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 1 },
    '[string, number?]',
  ],
  [
    { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'null' } },
    '[string?, ...Array<null>]',
  ],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ patternProperties: { '^x': { type: 'number' } } }, 'Record<string, number>'],
  [{ properties: { a: { type: 'string' } }, required: ['a'] }, '{ a: string; }'],
  [
    { properties: { a: {} }, additionalProperties: { type: 'number' } },
    '{ a?: unknown; } & Record<string, number>',
  ],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
  [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  [{ oneOf: [{ const: 'a' }, { type: 'null' }] }, '"a" | null'],
  [
    { allOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'string' }] },
    '(string | number) & string',
  ],
  [{ $ref: '#/none' }, 'unknown'],
  [{ $ref: 'https://example.com/schema' }, 'unknown'],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, 'X_a_1b'],
  [{ $ref: '#/__proto__' }, 'unknown'],
  [{ $ref: '#/%' }, 'unknown'],
])('%j is %s', (schema, expected) => {
  expect(type(schema)).toBe(expected);
});

test('a very deep or large schema ends in unknown quickly', () => {
  let deep: object = { type: 'string' };
  for (let n = 0; n < 5000; n++) deep = { type: 'array', items: deep };
  expect(type(deep)).toMatch(/^(Array<)+unknown>+$/);
  const wide = {
    properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`p${n}`, { type: 'string' }])),
  };
  expect(type(wide)).toMatch(/p9999\?: unknown; }$/);
  const many = Object.fromEntries(
    Array.from({ length: 5000 }, (_, n) => [`d${n}`, { $ref: `#/$defs/d${n + 1}` }]),
  );
  expect(typeOfSchema({ $ref: '#/$defs/d0', $defs: many }, 'X').named.length).toBeLessThan(2100);
});

test('a reference to itself uses its own name', () => {
  expect(typeOfSchema({ $ref: '#' }, 'X')).toEqual({
    type: 'X_Root',
    named: [{ name: 'X_Root', type: 'X_Root' }],
  });
});

const declared = (...tools: Partial<CodeTool>[]) =>
  declare(nameTools(tools.map(each => ({ ...tool('tool', async () => null), ...each }))));

/** Without the words at the top. */
const body = (text: string) => text.slice(text.indexOf('\n\n') + 2);

test('a tool is a function of its input, with comments', () => {
  const text = declared({
    name: 'fs__read_file',
    description: 'Reads a file.\nAs text.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Where it is.' },
        'max-lines': { type: 'integer', default: 10 },
        mode: { enum: ['text', 'base64', null, 1] },
      },
      required: ['path'],
    },
    outputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  });
  expect(body(text)).toBe(`interface fs__read_file_Input {
  /** Where it is. */
  path: string;
  /** Default: 10 */
  "max-lines"?: number;
  mode?: "text" | "base64" | null | 1;
}

interface fs__read_file_Output {
  text: string;
}

declare const tools: {
  /**
   * Reads a file.
   * As text.
   */
  fs__read_file(input: fs__read_file_Input): Promise<fs__read_file_Output>;
};
`);
});

test('a result without a schema is unknown, and an input without required fields is optional', () => {
  expect(body(declared({ name: 'now', inputSchema: { type: 'object', properties: {} } }))).toBe(
    `type now_Input = Record<string, unknown>;

declare const tools: {
  now(input?: now_Input): Promise<unknown>;
};
`,
  );
});

test('recursive types have names', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, root: { $ref: '#' } } };
  const text = declared({ inputSchema: { $ref: '#/$defs/node', $defs: { node } } });
  expect(body(text)).toContain(`type tool_Input = tool_Input_node;

interface tool_Input_node {
  next?: tool_Input_node;
  root?: tool_Input_Root;
}

type tool_Input_Root = tool_Input_node;
`);
});

const HOSTILE = [
  '*/ declare const process: unknown; /*',
  '**//evil',
  '*\u2028/ */',
  '\n */\nevil();\n/*',
  '`${'.concat('evil}`'),
  '"; evil(); "',
  '\u0000*\u0001/',
  '// */',
  '*',
  '/',
];

test.each(HOSTILE)('text of a server stays inside its comment or string: %j', text => {
  const declarations = declared({
    name: text,
    description: text,
    inputSchema: {
      type: 'object',
      description: text,
      properties: {
        [text]: { type: 'string', description: text, default: text },
        other: { enum: [text], const: text },
      },
      $defs: { [text]: { $ref: `#/$defs/${text}` } },
      anyOf: [{ $ref: `#/$defs/${text.replaceAll('~', '~0').replaceAll('/', '~1')}` }],
    },
  });
  // Declarations have no code in them: without types, comments and strings nothing is left.
  const code = stripTypeScriptTypes(declarations)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\/\/.*/g, '');
  expect(code.replaceAll(/[\s;]/g, '')).toBe('');
});

test('tools whose identifiers collide get numbers; a valid name is kept', () => {
  expect([...nameTools(['a-b', 'a b', 'a_b', '', '9', 'then', 'ok'].map(name => ({ name }))).keys()]).toEqual(
    [...['a_b', 'ok', 'a_b_2', 'a_b_3', '_', '_9', 'then_']],
  );
});
