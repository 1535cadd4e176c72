import { expect, test } from 'vitest';
import { type FrameHead, FrameReader, frame } from './frames.ts';

test('frames survive any cut of the stream', () => {
  const bytes = Buffer.concat([
    frame({ id: 1, text: 'ü\n"' }),
    frame({ id: 2 }, Buffer.from([0, 10, 255, 10])),
    frame({ id: 3 }),
  ]);
  for (let size = 1; size <= bytes.length; size++) {
    const seen: [FrameHead, string][] = [];
    const reader = new FrameReader((head, body) => seen.push([head, body.toString('hex')]));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(seen).toEqual([
      [{ id: 1, text: 'ü\n"' }, ''],
      [{ id: 2, bytes: 4 }, '000aff0a'],
      [{ id: 3 }, ''],
    ]);
  }
});

test.each([
  ['a line without end', 'x'.repeat(200)],
  ['something that is no JSON', 'hello\n'],
  ['a number', '7\n'],
  ['a body over the limit', '{"bytes":1000}\n'],
  ['a body of negative size', '{"bytes":-1}\n'],
])('%s is refused', (_, text) => {
  const reader = new FrameReader(() => {}, { maxLine: 100, maxBody: 100 });
  expect(() => reader.push(Buffer.from(text))).toThrow();
});
