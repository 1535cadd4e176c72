import { expect, test } from 'vitest';
import { TextPieces } from './text-pieces.ts';

test('words are passed on by lines, and what is left at the end', () => {
  const passed: string[] = [];
  const words = new TextPieces(text => passed.push(text));
  for (const piece of ['One ', 'line\nand', ' another\nand a ', 'third\n\n', 'The ', 'end']) words.add(piece);
  expect(passed).toEqual(['One line', 'and another', 'and a third\n']);
  words.end();
  words.end();
  expect(passed.at(-1)).toBe('The end');
  expect(passed).toHaveLength(4);
});
