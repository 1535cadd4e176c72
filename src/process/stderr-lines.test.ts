import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readStderr } from './stderr-lines.ts';

test('the last lines of a flood are kept, also when each comes in a piece of its own', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  readStderr(stream, line => lines.push(line));
  stream.write(Buffer.from('noise\n'.repeat(400_000)));
  for (const line of ['first of the end\n', 'the last ', 'line\n']) stream.write(line);
  stream.end();
  await new Promise(resolve => stream.once('close', resolve));
  expect(lines.slice(-2)).toEqual(['first of the end', 'the last line']);
  const marks = lines.filter(line => /^\[\d+ bytes left out\]$/.test(line));
  expect(marks).toHaveLength(1);
});
