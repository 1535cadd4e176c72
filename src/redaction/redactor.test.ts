import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkProperty } from '../core/testing/check-property.ts';
import { createRedactor } from './redactor.ts';

const TOKEN = 'ghp_s3cr3t/Value+12"é';
const { text, deep, hits } = createRedactor([{ name: 'TOKEN', value: TOKEN }]);

const b64 = (value: string) => Buffer.from(value).toString('base64');
const FORMS: [string, string][] = [
  ['raw', TOKEN],
  ['JSON', JSON.stringify(TOKEN).slice(1, -1)],
  ['JSON in ASCII', JSON.stringify(TOKEN).slice(1, -1).replace('é', '\\u00e9')],
  ['JSON with slashes escaped', JSON.stringify(TOKEN).slice(1, -1).replace('/', '\\/')],
  ['JSON in JSON', JSON.stringify(JSON.stringify(TOKEN)).slice(3, -3)],
  ['base64', b64(TOKEN)],
  ['base64url', Buffer.from(TOKEN).toString('base64url')],
  ['percent', encodeURIComponent(TOKEN)],
  ['percent in lower case', encodeURIComponent(TOKEN).replace(/%../g, code => code.toLowerCase())],
  ['percent, every byte', Buffer.from(TOKEN).toString('hex').replace(/../g, '%$&')],
  ['hex', Buffer.from(TOKEN).toString('hex')],
  ['upper case', TOKEN.toUpperCase()],
  ['lower case', TOKEN.toLowerCase()],
  ['hex in upper case', Buffer.from(TOKEN).toString('hex').toUpperCase()],
];

describe('a secret', () => {
  test.each(FORMS)('as %s is removed, and the text around it stays', (_, form) => {
    expect(text(`before ${form} after`)).toMatch(/^before \[secret TOKEN\]={0,2} after$/);
    expect(hits(`before ${form} after`)).toBe(true);
    expect(text(`${form}\n${form}`)).not.toContain(form);
  });

  test.each(['user:', 'me:', 'x:', 'Bearer '])(
    'inside base64 of something longer, after %j, is taken out with the characters it shares',
    before => {
      for (const after of ['', '\n', ' x', ' more']) {
        const encoded = b64(before + TOKEN + after);
        const [start, end] = text(`Basic ${encoded}.`).replace('Basic ', '').split('[secret TOKEN]');
        // The remaining base64 decodes only to text around the secret, in whole groups or less.
        expect(b64(before).startsWith(start!)).toBe(true);
        expect(Buffer.from(end!.replace(/\.$/, ''), 'base64').length).toBeLessThanOrEqual(after.length);
      }
    },
  );

  test('of which another is a part goes as one, named by the longer', () => {
    const both = createRedactor([
      { name: 'SHORT', value: 'abcdefgh' },
      { name: 'LONG', value: 'abcdefgh-ijklmnop' },
    ]);
    expect(both.text('x abcdefgh-ijklmnop y abcdefgh z')).toBe('x [secret LONG] y [secret SHORT] z');
  });

  test('that overlaps another leaves nothing of either', () => {
    const both = createRedactor([
      { name: 'ONE', value: 'aaaabbbb' },
      { name: 'TWO', value: 'bbbbcccccc' },
    ]);
    expect(both.text('x aaaabbbbcccccc y')).toBe('x [secret TWO] y');
    expect(createRedactor([{ name: 'A', value: 'abababab' }]).text('xababababababy')).toBe('x[secret A]y');
  });

  test('that is the password of a URL is taken out by itself, as written and as meant, also for Basic', () => {
    const url = createRedactor([{ name: 'DB', value: 'postgres://app:p%40ss-w%C3%B6rd@db.local/x' }]);
    for (const form of ['p%40ss-w%C3%B6rd', 'p@ss-wörd', 'app:p@ss-wörd', b64('app:p@ss-wörd')])
      expect(url.text(`(${form})`)).toMatch(/\(.*\[secret DB\]=?\)/);
    expect(url.text('user app at db.local')).toBe('user app at db.local');
  });

  test('in many lines is taken out line by line too, and without the line break at its end', () => {
    const lines = ['-----BEGIN KEY-----', 'MIIEvQIBADANBgkqhki', 'G9w0BAQEFAASCBKcwgg', '-----END KEY-----'];
    const key = createRedactor([
      { name: 'KEY', value: `${lines.join('\n')}\n` },
      { name: 'FILE', value: 'from-a-file\n' },
    ]);
    expect(key.text(`a ${lines[1]} b`)).toBe('a [secret KEY] b');
    expect(key.text(lines.join('\r\n'))).toBe(`${lines[0]}\r\n[secret KEY]\r\n[secret KEY]\r\n${lines[3]}`);
    expect(key.text('x from-a-file y')).toBe('x [secret FILE] y');
  });

  test('of fewer than six characters is left alone', () => {
    const short = createRedactor([{ name: 'PIN', value: '12345' }]);
    expect(short.text('12345 12345')).toBe('12345 12345');
    expect(short.hits('12345')).toBe(false);
  });

  test('that is a word of the mark is not brought back by it', () => {
    for (const value of ['secret', 'MY_NAME', 'hidden', '[secret MY_NAME]'])
      expect(
        createRedactor([
          { name: 'MY_NAME', value },
          { name: 'X', value: 'secret' },
        ]).text(`a ${value} b`),
      ).not.toContain(value);
  });
});

describe('a JSON value', () => {
  test('loses secrets in strings and keys at any depth, and keeps the rest', () => {
    const value = { a: [1, null, { [`k-${TOKEN}`]: `x ${TOKEN}`, b: true }], c: 'plain' };
    expect(deep(value)).toEqual({
      a: [1, null, { 'k-[secret TOKEN]': 'x [secret TOKEN]', b: true }],
      c: 'plain',
    });
    expect(value.a[2]).toHaveProperty([`k-${TOKEN}`]);
  });

  test('loses secrets that came back as numbers', () => {
    const numbers = createRedactor([
      { name: 'PIN', value: '8675309123' },
      { name: 'ID', value: '0012345678' },
      { name: 'LONG', value: '12345678901234567890' },
    ]);
    const value = JSON.parse(
      '{"n":8675309123,"e":8.675309123e9,"f":-8675309123.5,"i":[12345678],"l":12345678901234567890,"m":86753091}',
    );
    expect(numbers.hits(JSON.stringify(value))).toBe(true);
    expect(numbers.deep(value)).toEqual({
      ...{ n: '[secret PIN]', e: '[secret PIN]', f: '-[secret PIN].5', i: ['[secret ID]'] },
      ...{ l: '[secret LONG]', m: 86753091 },
    });
  });

  test('without secrets is the same value', () => {
    const value = { a: [1, { b: 'c' }], d: null };
    expect(deep(value)).toBe(value);
    expect(createRedactor([]).deep(value)).toBe(value);
  });

  test('with a key named __proto__ stays data', () => {
    const clean = deep(JSON.parse(`{"__proto__":{"x":"${b64(TOKEN)}"}}`) as Record<string, unknown>);
    expect(Object.keys(clean)).toEqual(['__proto__']);
    expect(JSON.stringify(clean)).toContain('[secret TOKEN]');
  });

  test('that is deeper than anybody means is cut, not followed for ever', () => {
    let value: unknown = TOKEN;
    for (let level = 0; level < 100_000; level++) value = [value];
    expect(JSON.stringify(deep(value))).toContain('too deep');
  });
});

test('JSON text is a hit also when characters are spelt by number', () => {
  expect(hits(`{"a":"\\u0067hp_s3cr3t"}`)).toBe(true);
  expect(hits('{"a":"plain"}')).toBe(false);
  expect(hits(JSON.stringify({ a: 'with "quotes"\n' }))).toBe(false);
  expect(createRedactor([]).hits('\\u0067')).toBe(false);
});

const value = fc
  .string({ minLength: 6, maxLength: 40, unit: 'binary' })
  .filter(text => text.trim().length >= 6);
const around = fc.string({ maxLength: 20, unit: 'grapheme' });

test('no form of any secret is left, wherever it stands', { tags: ['secret-leakage'] }, () => {
  const encoded = (raw: string, before: string, after: string) => [
    ...[raw, JSON.stringify(raw).slice(1, -1), encodeURIComponent(raw.toWellFormed())],
    ...[Buffer.from(raw).toString('hex'), Buffer.from(before + raw + after).toString('base64')],
    Buffer.from(before + raw + after).toString('base64url'),
  ];
  checkProperty(
    fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), around, around, (values, before, after) => {
      const redactor = createRedactor(values.map((raw, index) => ({ name: `V${index}`, value: raw })));
      for (const raw of values)
        for (const form of encoded(raw, before, after)) {
          const clean = redactor.text(`${before}${form}${after}`);
          expect(clean).toContain('[');
          expect(redactor.text(clean)).toBe(clean);
          expect(clean.includes(form)).toBe(false);
          expect(redactor.deep({ [form]: [form] })).not.toEqual({ [form]: [form] });
        }
    }),
    0.03,
  );
});

test('a value whose JSON text is no hit has nothing to take out', () => {
  checkProperty(
    fc.property(value, fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (raw, other, times) => {
      let inside: string = raw;
      for (let time = 0; time < times; time++) inside = JSON.stringify(inside);
      const redactor = createRedactor([{ name: 'V', value: raw }]);
      const whole = { [inside]: [other, `a${inside}b`] };
      if (!redactor.hits(JSON.stringify(whole))) expect(redactor.deep(whole)).toBe(whole);
      if (times < 3) expect(redactor.hits(JSON.stringify(whole))).toBe(true);
    }),
    0.05,
  );
});

test('a text without secrets is returned as it is', () => {
  const letters = fc.string({ maxLength: 300, unit: fc.constantFrom(...'abcdefgh 0123+/=%{}"\n') });
  checkProperty(
    fc.property(letters, raw => {
      expect(text(raw)).toBe(raw);
      expect(hits(raw)).toBe(false);
    }),
    0.2,
  );
});
