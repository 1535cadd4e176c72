import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkProperty } from '../testing/check-property.ts';
import { definitionFault, definitionOf, hashOf } from './definitions.ts';

const tool = (more: object = {}) => ({
  name: 'read',
  description: 'Reads.',
  inputSchema: { type: 'object' },
  ...more,
});
const description = (text: string) => definitionOf(tool({ description: text }))!.description;

describe('a definition', () => {
  test('keeps everything that is not hidden, but for _meta', () => {
    const whole = tool({
      title: 'Read',
      annotations: { readOnlyHint: true },
      icons: [{ src: 'x' }],
      outputSchema: {},
    });
    expect(definitionOf({ ...whole, _meta: { at: 1 } })).toEqual(whole);
    const named = tool({
      inputSchema: { properties: { _meta: { type: 'string' }, constructor: { type: 'string' } } },
    });
    expect(definitionOf(named)).toEqual(named);
  });

  test.each([
    ['escape sequences', 'a\u001b[31mred\u0007', 'a[31mred'],
    ['C1 controls', 'a\u009b31mb\u0085', 'a31mb'],
    ['carriage returns, but not line ends and tabs', 'a\r\n\tb', 'a\n\tb'],
    ['zero-width characters', 'a\u200b\u200c\u200d\ufeff\u2060b', 'ab'],
    ['bidirectional marks', '\u202eevil\u202c \u2066x\u2069\u200f\u061c', 'evil x'],
    ['tag characters', `a${String.fromCodePoint(0xe0041, 0xe0042, 0xe007f)}b`, 'ab'],
    ['variation selectors', `a\ufe01${String.fromCodePoint(0xe0100)}b`, 'ab'],
    ['blank letters', 'a\u3164\u115f\u00adb', 'ab'],
    ['private and broken characters', 'a\ue000\ud800b\udfffc', 'abc'],
    ['separators that some take for line ends', 'a\u2028b\u2029c', 'abc'],
  ])('loses %s', (_, raw, clean) => {
    expect(description(raw)).toBe(clean);
    const deep = definitionOf(
      tool({ inputSchema: { properties: { x: { enum: [raw], description: raw } } } }),
    );
    expect(deep?.inputSchema).toEqual({ properties: { x: { enum: [clean], description: clean } } });
  });

  test('is redacted as it will be shown, before anything is cut off', () => {
    const redact = (text: string) => text.replaceAll('canary-0042', '***');
    const parted = 'canary\u200b-00\u001b42';
    const description = `${'a'.repeat(16_380)}${parted}`;
    const shown = definitionOf(
      tool({ title: parted, description, inputSchema: { enum: [parted], description: parted } }),
      redact,
    );
    expect(shown).toMatchObject({ title: '***', inputSchema: { enum: ['***'], description: '***' } });
    expect(shown!.description).toBe(`${'a'.repeat(16_380)}***`);
  });

  test('keeps letters of every language and emoji', () => {
    const text = 'Grüße, 日本語, العربية, हिन्दी, 🎉';
    expect(description(text)).toBe(text);
  });

  test('has a description that ends somewhere, and says that it was longer', () => {
    expect(description('a'.repeat(16_384))).toHaveLength(16_384);
    expect(description('a'.repeat(20_000))).toMatch(/^a{16384}\n\[… cut here, 20000 characters in all …\]$/);
    expect(String(description(`${'a'.repeat(16_383)}🎉🎉`)).isWellFormed()).toBe(true);
  });

  test('has a title that ends somewhere too, but values of a schema as long as they are', () => {
    const long = 'a'.repeat(20_000);
    const { title, inputSchema } = definitionOf(tool({ title: long, inputSchema: { const: long } }))!;
    expect(title).toContain('cut here');
    expect(inputSchema).toEqual({ const: long });
  });

  test('has no key named __proto__, at any depth', () => {
    const raw = JSON.parse(
      '{"name":"x","__proto__":{"a":1},"inputSchema":{"properties":{"__proto__":{},"b":{}}}}',
    );
    expect(definitionOf(raw)).toStrictEqual({ name: 'x', inputSchema: { properties: { b: {} } } });
  });

  test.each([
    [null, 'not an object'],
    ['read', 'not an object'],
    [['read'], 'not an object'],
    [{}, 'no name'],
    [{ name: 7 }, 'no name'],
    [{ name: '' }, 'no name'],
    [{ name: 'x'.repeat(129) }, 'more than 128'],
    [{ name: 're\u200bad' }, 'invisible'],
    [{ name: 'a', inputSchema: { properties: { 'b\u202e': {} } } }, 'invisible'],
    [{ name: 'a', list: Array(50_001).fill(1) }, 'too large'],
  ])('is none of %#, and that has a reason', (raw, reason) => {
    expect(definitionOf(raw)).toBeNull();
    expect(definitionFault(raw)).toContain(reason);
  });

  test('has a name of up to 128 characters', () => {
    expect(definitionFault({ name: 'x'.repeat(128) })).toBeNull();
  });

  const nested = (levels: number, wrap: (inner: unknown) => unknown) => {
    let schema: unknown = { type: 'string' };
    for (let level = 1; level < levels; level++) schema = wrap(schema);
    return definitionFault(tool({ inputSchema: schema }));
  };

  test('has schemas at most 32 deep, whatever they are kept in', () => {
    for (const wrap of [
      (inner: unknown) => ({ properties: { properties: inner } }),
      (inner: unknown) => ({ items: inner }),
      (inner: unknown) => ({ anyOf: [inner] }),
      (inner: unknown) => ({ unheardOf: inner }),
    ]) {
      expect(nested(32, wrap)).toBeNull();
      expect(nested(33, wrap)).toContain('32 deep');
    }
    expect(nested(200, inner => [inner])).toContain('too deep');
    expect(nested(50_000, inner => [inner])).toContain('too deep');
  });

  test('has at most 2,000 schemas', () => {
    const wide = (many: number) => tool({ inputSchema: { anyOf: Array.from({ length: many }, () => ({})) } });
    expect(definitionFault(wide(1_990))).toBeNull();
    expect(definitionFault(wide(2_000))).toContain('more than 2000');
  });

  test('shows nothing that is not seen, whatever was in it', { tags: ['R26', 'tool-poisoning'] }, () => {
    checkProperty(
      fc.property(fc.string({ unit: 'binary', maxLength: 50 }), raw => {
        const clean = String(description(raw));
        expect(clean).not.toMatch(
          /(?![\n\t])[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}](?<!\p{Cn})/u,
        );
        expect(description(clean)).toBe(clean);
      }),
      0.2,
    );
  });
});

describe('a hash', () => {
  const hash = (more: object) => hashOf(definitionOf(tool(more))!);

  test('does not depend on the order of keys or on _meta', () => {
    const schema = { type: 'object', properties: { a: {}, b: {} } };
    const turned = { properties: { b: {}, a: {} }, type: 'object' };
    expect(hash({ inputSchema: schema })).toBe(hash({ inputSchema: turned }));
    expect(hash({ _meta: { now: 1 } })).toBe(hash({}));
    expect(hashOf({ ...tool(), _meta: 1 })).toBe(hash({}));
  });

  test('is another when anything else is', () => {
    const all = [
      ...[
        {},
        { name: 'other' },
        { title: 't' },
        { description: 'Reads!' },
        { description: undefined },
        { icons: [] },
      ],
      ...[{ inputSchema: { type: 'object', required: ['a'] } }, { inputSchema: { required: ['a', 'b'] } }],
      ...[
        { inputSchema: { required: ['b', 'a'] } },
        { outputSchema: {} },
        { annotations: { readOnlyHint: true } },
      ],
      ...[
        { annotations: { readOnlyHint: 'true' } },
        { execution: { taskSupport: 'required' } },
        { 'x-more': 1 },
      ],
    ];
    expect(new Set(all.map(hash)).size).toBe(all.length);
  });
});
