import { expect, test } from 'vitest';
import { percentDecoded } from './text.ts';

test.each([
  ['plain', 'plain'],
  ['a%2Fb%20c+d', 'a/b c+d'],
  ['gr%C3%BCn', 'grün'],
  ['100%', null],
  ['%FF', null],
])('%s is %s', (text, value) => {
  expect(percentDecoded(text)).toBe(value);
});
