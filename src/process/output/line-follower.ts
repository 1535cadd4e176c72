import { lstatSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate as otherWork } from 'node:timers/promises';
import { createTicker } from '../../base/clock.ts';
import { edgesOfLongLine, LineSplitter } from '../../base/lines.ts';
import { openRegular } from './regular-file.ts';

/** Called for a line that is left out because it is too long: its first bytes, and how many it has. */
export type OnLongLine = (beginning: string, bytes: number) => void;

export interface Following {
  /** Reads the rest of the file, then settles. Rejects if reading failed or a callback threw. */
  stop(): Promise<void>;
}

const CHECK_EVERY_MS = 100;
const CHUNK = 256 * 1024;
/** Some engines write a whole answer as one line. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Follows any number of growing files with one timer and one buffer, so that memory does not depend on the output. */
export function createLineFollower(): (
  path: string,
  onLine: (line: string) => void,
  onLongLine?: OnLongLine,
) => Following {
  const everyTick = createTicker(CHECK_EVERY_MS);
  const chunk = Buffer.allocUnsafeSlow(CHUNK);
  let previous: Promise<unknown> = Promise.resolve();

  /** One read at a time, because the buffer is shared. */
  function inTurn(work: () => Promise<number>): Promise<number> {
    const result = previous.then(work);
    previous = result.catch(() => {});
    return result;
  }

  return (path, onLine, onLongLine) => {
    const lines = new LineSplitter(
      { maxBytes: MAX_LINE_BYTES },
      {
        line: bytes => onLine(bytes.toString()),
        piece: edgesOfLongLine(({ head, bytes }, isLast) => {
          if (isLast) onLongLine?.(head.toString(), bytes);
        }),
      },
    );
    let position = 0;
    let reading: Promise<void> | null = null;
    let failure: unknown = null;
    let stopped: Promise<void> | null = null;

    async function readUpTo(size: number): Promise<void> {
      if (position >= size) return;
      const file = await openRegular(path);
      if (!file) return;
      try {
        while (position < size && (await inTurn(() => readChunk(file, size))) > 0) await otherWork();
      } finally {
        await file.close();
      }
    }

    async function readChunk(file: FileHandle, size: number): Promise<number> {
      const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK, size - position), position);
      position += bytesRead;
      lines.push(chunk.subarray(0, bytesRead));
      return bytesRead;
    }

    const leave = everyTick(() => {
      if (reading || failure) return;
      const size = sizeOf(path);
      if (size <= position) return;
      reading = readUpTo(size)
        .catch(error => {
          failure = error;
        })
        .finally(() => {
          reading = null;
        });
    });

    async function finish(): Promise<void> {
      leave();
      const size = sizeOf(path);
      await reading;
      if (failure) throw failure;
      await readUpTo(size);
      lines.end();
    }

    return {
      stop() {
        stopped ??= finish();
        return stopped;
      },
    };
  };
}

function sizeOf(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : 0;
}
