import { expect, test } from 'vitest';
import { imageIn } from './image-header.ts';

const png = Buffer.alloc(33);
Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(png);
png.writeUInt32BE(640, 16);
png.writeUInt32BE(480, 20);

test.each([
  ['a PNG', png, { type: 'image/png', width: 640, height: 480 }],
  ['a GIF', Buffer.from('47494638396102000300', 'hex'), { type: 'image/gif', width: 2, height: 3 }],
  [
    'a JPEG with a comment before its frame',
    Buffer.from('ffd8fffe0004abcdffc0001108000500040301', 'hex'),
    { type: 'image/jpeg', width: 4, height: 5 },
  ],
])('%s has its size in its header', (_, bytes, header) => {
  expect(imageIn(bytes)).toEqual(header);
});

test.each([
  ['text', Buffer.from('<svg onload="alert(1)"/>')],
  ['nothing', Buffer.alloc(0)],
  ['a PNG that breaks off', png.subarray(0, 20)],
  ['a JPEG without a frame', Buffer.from('ffd8fffe0004abcdffd9', 'hex')],
  ['a JPEG that is not one', Buffer.from('ffd8000000000000000000000000', 'hex')],
])('%s is no image', (_, bytes) => {
  expect(imageIn(bytes)).toBeNull();
});
