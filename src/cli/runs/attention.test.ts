import { expect, test } from 'vitest';
import { Attention } from './run-reporter.ts';

const PUSH = '\u001b[22;0t';
const POP = '\u001b[23;0t';
const title = (count: number) => `\u001b]0;(${count}) Squad needs you\u0007`;

function onScreen(isTTY: boolean) {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  return { attention: new Attention({ write, isTTY, columns: 80, rows: 24, color: true }), written };
}

test('the bell rings for each new question, and the title counts them', () => {
  const { attention, written } = onScreen(true);
  for (const waiting of [0, 1, 1, 2, 1]) attention.show(waiting);
  expect(written.join('')).toBe(`${PUSH}${title(1)}\u0007${title(2)}\u0007${title(1)}`);
});

test('the previous title is restored when no agent waits, and at the end', () => {
  const { attention, written } = onScreen(true);
  attention.show(1);
  attention.show(0);
  expect(written.at(-1)).toBe(POP);
  attention.close();
  expect(written.filter(text => text === POP)).toHaveLength(1);
  attention.show(1);
  attention.close();
  expect(written.filter(text => text === POP)).toHaveLength(2);
});

test('without a terminal nothing is written', () => {
  const { attention, written } = onScreen(false);
  attention.show(3);
  attention.close();
  expect(written).toEqual([]);
});
