import { type FSWatcher, lstatSync, readSync, watch } from 'node:fs';
import { setImmediate as otherWork } from 'node:timers/promises';
import { createTicker } from '../../base/clock.ts';
import { edgesOfLongLine, LineSplitter } from '../../base/lines.ts';
import { openRegular } from './regular-file.ts';

/** Called with a line and its size in bytes, without the newline. */
export type OnLine = (line: string, bytes: number) => void;
/** Called for a line that is skipped because it is too long, with its first bytes and its size. */
export type OnLongLine = (beginning: string, bytes: number) => void;

export interface Following {
  /** Reads new lines at once, where the system reports changes of files. Returns a function that ends this. */
  hurry(): () => void;
  /** Reads to the end of the file, then settles. Rejects if reading failed or a callback threw. */
  stop(): Promise<void>;
}

const CHECK_EVERY_MS = 25;
/** A file that has not grown for a second is checked only at every fourth tick. */
const QUIET_TICKS = 40;
const QUIET_EVERY = 4;
const CHUNK = 256 * 1024;
/** Limit of a line. It is this high because some engines write a whole answer as one line. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Follows any number of growing files with one timer and one buffer, so that memory does not grow with the output. */
export function createLineFollower(): (path: string, onLine: OnLine, onLongLine?: OnLongLine) => Following {
  const everyTick = createTicker(CHECK_EVERY_MS);
  const chunk = Buffer.allocUnsafeSlow(CHUNK);
  let previous: Promise<unknown> = Promise.resolve();

  /** Reads one chunk of one file and then yields, so that many agents with much output cannot block the hub. */
  function inTurn(readChunk: () => number): Promise<number> {
    const result = previous.then(readChunk);
    previous = result.then(
      () => otherWork(),
      () => {},
    );
    return result;
  }

  return (path, onLine, onLongLine) => {
    const lines = new LineSplitter(
      { maxBytes: MAX_LINE_BYTES, reusesChunks: true },
      {
        line: bytes => onLine(bytes.toString(), bytes.length),
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
        while (position < size && (await inTurn(() => readChunk(file.fd, size))) > 0);
      } finally {
        await file.close();
      }
    }

    /**
     * The read is synchronous. The data was just written and is in the system's cache, so reading it costs less than a
     * thread switch.
     */
    function readChunk(fd: number, size: number): number {
      const bytesRead = readSync(fd, chunk, 0, Math.min(CHUNK, size - position), position);
      position += bytesRead;
      lines.push(chunk.subarray(0, bytesRead));
      return bytesRead;
    }

    /** Reads on without waiting for the next tick while the agent writes more than one chunk per tick. */
    async function catchUp(): Promise<void> {
      for (let from = position - CHUNK; position - from >= CHUNK && !stopped; ) {
        from = position;
        await readUpTo(sizeOf(path));
      }
    }

    let ticks = 0;
    let watcher: FSWatcher | null = null;

    function calm(): void {
      watcher?.close();
      watcher = null;
    }

    function look(): void {
      if (reading || failure || stopped || sizeOf(path) <= position) return;
      ticks = 0;
      reading = catchUp()
        .catch(error => {
          failure = error;
        })
        .finally(() => {
          reading = null;
          // A change during the read was reported, and not noticed.
          if (watcher) look();
        });
    }

    const leave = everyTick(() => {
      if (++ticks <= QUIET_TICKS || ticks % QUIET_EVERY === 0) look();
    });

    async function finish(): Promise<void> {
      leave();
      calm();
      const size = sizeOf(path);
      await reading;
      if (failure) throw failure;
      await readUpTo(size);
      lines.end();
    }

    return {
      hurry() {
        try {
          watcher ??= watch(path, look).on('error', calm);
        } catch {
          // Without it, the file is checked at every tick.
        }
        look();
        return calm;
      },
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
