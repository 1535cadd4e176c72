import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { interruption } from './interruption.ts';

const READ_TIMEOUT_MS = 180_000;

/**
 * Named pipe to which agents write a line as their first action. The line arrives without polling and without file
 * times, which are too coarse.
 */
export class Fifo {
  readonly path: string;
  private readonly socket: Socket;
  private bytes = 0;
  private settle = () => {};
  private wanted = Number.POSITIVE_INFINITY;

  constructor(path: string) {
    makeFifo(path);
    this.path = path;
    // The pipe is opened for reading and writing, so that it stays open between two writers.
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    this.socket = new Socket({ fd, readable: true, writable: false });
    this.socket.on('data', chunk => {
      this.bytes += chunk.length;
      if (this.bytes >= this.wanted) this.settle();
    });
  }

  /** Resolves with the time when `count` more bytes have arrived than at the last call. */
  async take(count = 1): Promise<number> {
    this.wanted = count;
    const giveUp = AbortSignal.any([interruption, AbortSignal.timeout(READ_TIMEOUT_MS)]);
    if (this.bytes < count)
      await new Promise<void>((settle, reject) => {
        this.settle = settle;
        giveUp.addEventListener('abort', () => reject(giveUp.reason), { once: true });
      });
    this.bytes -= count;
    return performance.now();
  }

  close(): void {
    this.socket.destroy();
  }
}

export function makeFifo(path: string): void {
  execFileSync('mkfifo', [path]);
}

/** Wakes every process that waits to read from the pipe at `path`. Later readers wait for the next call. */
export function release(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error; // ENXIO: no process is waiting
  }
}
