import { closeSync, constants, openSync, writeSync } from 'node:fs';
import type { Challenge } from './handshake.ts';

/** A client's answer to the hub's challenge: the file it holds open shows the hub which process this is. */
export class Proof {
  private file: number | null = null;

  /** Whether the line was a challenge. A file that cannot be opened proves nothing, which the hub then says. */
  answers(words: object): boolean {
    if (!('prove' in words)) return false;
    try {
      this.file ??= openSync((words as Challenge).prove, constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.file, '.');
    } catch {} // refused by the hub, with the reason
    return true;
  }

  /** The hub has decided. */
  release(): void {
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }
}
