import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { LineWriter } from './message-lines.ts';

test('a message of texts and bytes is one line, also for readers that split at Unicode separators', async () => {
  const output = new PassThrough();
  const writer = new LineWriter(output);
  await writer.writeParts(['{"a":', Buffer.from('"x\u2028y\u2029z ü"'), ',"b":"\u2028"}']);
  await writer.writeParts(['{"c":', Buffer.from('[1]'), '}']);
  output.end();
  const text = Buffer.concat(await output.toArray()).toString();
  expect(text).toBe('{"a":"x\\u2028y\\u2029z ü","b":"\\u2028"}\n{"c":[1]}\n');
});
