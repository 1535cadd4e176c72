import { expect, test } from 'vitest';
import { TextPieces } from './model-turn.ts';

test('text is passed on in whole lines, and the rest at the end', () => {
  const passed: string[] = [];
  const words = new TextPieces(text => passed.push(text));
  for (const piece of ['One ', 'line\nand', ' another\nand a ', 'third\n\n', 'The ', 'end']) words.add(piece);
  expect(passed).toEqual(['One line', 'and another', 'and a third\n']);
  words.end();
  words.end();
  expect(passed.at(-1)).toBe('The end');
  expect(passed).toHaveLength(4);
});

test('a very long line is passed on in parts, split between words', () => {
  const passed: string[] = [];
  const words = new TextPieces(text => passed.push(text));
  for (let count = 0; count < 50_000; count++) words.add(count % 3 === 0 ? 'one ' : 'two');
  words.end();
  expect(passed.length).toBeGreaterThan(1);
  expect(Math.max(...passed.map(({ length }) => length))).toBeLessThan(70_000);
  expect(new Set(passed.join(' ').split(' '))).toEqual(new Set(['one', 'twotwoone', 'two']));
});
