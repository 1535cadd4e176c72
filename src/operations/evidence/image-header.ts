interface ImageHeader {
  type: 'image/png' | 'image/jpeg' | 'image/gif';
  width: number;
  height: number;
}

/** Type and size of a PNG, JPEG or GIF, according to its first bytes. Null for everything else. */
export function imageIn(bytes: Buffer): ImageHeader | null {
  if (bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47)
    return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (bytes.length >= 10 && /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)))
    return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8) return jpegHeader(bytes);
  return null;
}

/** Matches start-of-frame markers, which contain the size. C4, C8 and CC are other markers. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

function jpegHeader(bytes: Buffer): ImageHeader | null {
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (bytes[at] !== 0xff) return null;
    if (isFrame(bytes[at + 1]!))
      return { type: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
  }
  return null;
}
