import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { controlLine } from './control-line.ts';

test('whatever the words hold, a reader of lines gets one line and the same words', async () => {
  const words = { id: 1, operation: 'x', input: { task: 'a\u2028b\u2029c\nd\re\u0085f 😀 \u0000' } };
  const lines: string[] = [];
  for await (const line of createInterface({ input: Readable.from([Buffer.from(controlLine(words))]) }))
    lines.push(line);
  expect(lines.map(line => JSON.parse(line))).toEqual([words]);
});
