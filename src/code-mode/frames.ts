/** A frame is a message between host and guest: four bytes of length, then JSON. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const HEADER = 4;

export function toFrame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message), 'utf8');
  const frame = Buffer.allocUnsafe(HEADER + body.length);
  frame.writeUInt32LE(body.length);
  body.copy(frame, HEADER);
  return frame;
}

export interface FrameReader {
  /** Throws if a frame is longer than allowed. The stream cannot be read after that. */
  push(chunk: Buffer): void;
}

/** Splits a stream into frames. Holds at most one frame in memory. */
export function createFrameReader(onFrame: (body: Buffer) => void): FrameReader {
  let pieces: Buffer[] = [];
  let have = 0;

  function take(length: number): Buffer {
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    pieces = all.length > length ? [all.subarray(length)] : [];
    have = all.length - length;
    return all.subarray(0, length);
  }

  let wanted: number | null = null;
  return {
    push(chunk) {
      pieces.push(chunk);
      have += chunk.length;
      for (;;) {
        if (wanted === null) {
          if (have < HEADER) return;
          wanted = take(HEADER).readUInt32LE();
          if (wanted > MAX_FRAME_BYTES) throw new Error(`A message of ${wanted} bytes is too long`);
        }
        if (have < wanted) return;
        const body = take(wanted);
        wanted = null;
        onFrame(body);
      }
    },
  };
}
