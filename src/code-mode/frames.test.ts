import { expect, test } from 'vitest';
import { createFrameReader, MAX_FRAME_BYTES, toFrame } from './messages.ts';

const messages = [{ a: 1 }, 'é😀', [], { text: 'x'.repeat(10_000) }, 0];
const stream = Buffer.concat(messages.map(toFrame));

test.each([1, 2, 3, 5, 7, 1000, stream.length])('messages come out whole, %d bytes at a time', size => {
  const found: unknown[] = [];
  const reader = createFrameReader(body => found.push(JSON.parse(body.toString('utf8'))));
  for (let at = 0; at < stream.length; at += size) reader(stream.subarray(at, at + size));
  expect(found).toEqual(messages);
});

test('a frame that announces too many bytes is refused before they arrive', () => {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(MAX_FRAME_BYTES + 1);
  expect(() => createFrameReader(() => {})(header)).toThrow('too long');
});
