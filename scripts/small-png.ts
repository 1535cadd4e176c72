import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLOURS = 256;

/** Encodes the picture with a palette: screenshots have few colours and shrink to a third. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, channels, rows } = decode(png);
  const pixels = width * height;
  const colourAt = (at: number) => rows.readUIntBE(at * channels, 3);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels; at++) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  // Weight of a colour in the palette. Greys are many and similar, so a strong colour counts more. Otherwise a small
  // green dot would become grey.
  const weight = ([colour, count]: [number, number]) => count * (1 + chroma(colour));
  const byUse = [...counts].sort((one, other) => weight(other) - weight(one)).map(([colour]) => colour);
  const palette = byUse.slice(0, MAX_COLOURS);
  const places = new Map(byUse.map(colour => [colour, nearest(palette, colour)]));
  const indexed = Buffer.alloc(pixels + height);
  // Each row begins with the number of its filter. 0 means no filter.
  for (let at = 0; at < pixels; at++) indexed[at + Math.floor(at / width) + 1] = places.get(colourAt(at))!;
  return encode(width, height, palette, indexed);
}

const parts = (colour: number) => [(colour >> 16) & 255, (colour >> 8) & 255, colour & 255];
const chroma = (colour: number) => Math.max(...parts(colour)) - Math.min(...parts(colour));

/** Replaces a rare colour, always an edge of a letter, by the nearest colour of the palette. */
function nearest(palette: number[], colour: number): number {
  const wanted = parts(colour);
  const off = (other: number) => parts(other).reduce((sum, part, at) => sum + (part - wanted[at]!) ** 2, 0);
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [at, other] of palette.entries()) {
    const here = off(other);
    if (here < least) [best, least] = [at, here];
  }
  return best;
}

/** Reads PNG files as Chromium writes them: 8 bits for each of three or four channels, not interlaced. */
function decode(png: Buffer): { width: number; height: number; channels: number; rows: Buffer } {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const data = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? rows[y * stride + x - channels]! : 0;
      const up = y > 0 ? rows[(y - 1) * stride + x]! : 0;
      const corner = x >= channels && y > 0 ? rows[(y - 1) * stride + x - channels]! : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
      rows[y * stride + x] = data[y * (stride + 1) + 1 + x]! + guess;
    }
  }
  return { width, height, channels, rows };
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

function encode(width: number, height: number, palette: number[], indexed: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.alloc(palette.length * 3);
  for (const [at, colour] of palette.entries()) colours.writeUIntBE(colour, at * 3, 3);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(indexed, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
