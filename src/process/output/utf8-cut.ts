/**
 * Where UTF-8 text may be cut so that decoding the pieces gives the same as decoding the whole, also where it is not
 * valid: a first byte and the continuation bytes it calls for stay in one piece, whatever a decoder makes of them.
 */

/** No character is longer. */
export const LONGEST = 4;

/** If `at` is inside a character, whole or broken, where that starts; else `at`. */
export function startOfCharacter(bytes: Uint8Array, at: number): number {
  for (let start = at - 1; start >= 0 && start > at - LONGEST; start--) {
    const byte = bytes[start]!;
    if (isContinuation(byte)) continue;
    return endOfCharacter(bytes, start) > at ? start : at;
  }
  return at;
}

/** The end of the character that starts at `start`, or of as much of it as there is; at least one byte on. */
export function endOfCharacter(bytes: Uint8Array, start: number): number {
  const length = lengthOf(bytes[start]!);
  let end = start + 1;
  while (end < start + length && end < bytes.length && isContinuation(bytes[end]!)) end++;
  return end;
}

/** The end of the last whole character: what is after it could still become one when more bytes come. */
export function endOfWhole(bytes: Uint8Array): number {
  for (let start = bytes.length - 1; start >= 0 && start > bytes.length - LONGEST; start--) {
    if (isContinuation(bytes[start]!)) continue;
    const isOpen =
      endOfCharacter(bytes, start) === bytes.length && start + lengthOf(bytes[start]!) > bytes.length;
    return isOpen ? start : bytes.length;
  }
  return bytes.length;
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

function lengthOf(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 1;
}
