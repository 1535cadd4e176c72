import { closeSync, constants, openSync, writeSync } from 'node:fs';
import type { Challenge } from './handshake.ts';

/** A client's answer to the hub's challenge: the file that it holds open shows the hub which process it is. */
export class Proof {
  private file: number | null = null;

  /** Whether the message was a challenge. If the file cannot be opened, the hub refuses the client. */
  answers(message: object): boolean {
    if (!('prove' in message)) return false;
    try {
      this.file ??= openSync((message as Challenge).prove, constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.file, '.');
    } catch {} // the hub refuses, with the reason
    return true;
  }

  /** Call when the hub has replied. */
  release(): void {
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }
}
