import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { heldBy, isWritable, ownProcesses } from './socket-holder.ts';

/** A client answers within a millisecond; a busy machine may keep it waiting. */
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_PAUSE_MS = 20;

export interface ProcessProofs {
  /**
   * The process at the other end of a connection; null when nobody proved it. `ask` sends the client the path of a file,
   * which it opens for writing, writes to, and keeps open. A client cannot make another process do that, so the pid that it
   * claims only says where to look first.
   */
  processOf(claimed: number, ask: (file: string) => void): Promise<number | null>;
}

/** Linux only: elsewhere the system does not say cheaply who holds a file. */
export const canProveProcesses = process.platform === 'linux';

/** Node does not tell who is at the other end of a socket, so the client has to show it. */
export function createProcessProofs(folder: string, timeoutMs = ANSWER_TIMEOUT_MS): ProcessProofs {
  // An earlier hub may have been killed between making a file and removing it.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return {
    async processOf(claimed, ask) {
      const file = join(folder, randomBytes(16).toString('hex'));
      writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
      try {
        ask(file);
        return (await isWritten(file, timeoutMs)) ? writerOf(file, claimed) : null;
      } finally {
        rmSync(file, { force: true });
      }
    },
  };
}

async function isWritten(file: string, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  for (let pause = 1; performance.now() < until; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) return true;
    await delay(pause);
  }
  return false;
}

/** By the end of the path: a process in a mount namespace of its own may know the folder under another name. */
function writerOf(file: string, claimed: number): number | null {
  const end = `/${basename(file)}`;
  // Indexers and backups read files as they appear; only the client writes to this one.
  const writerIn = (pids: number[]) => heldBy(pids, link => link.endsWith(end)).find(isWritable)?.pid ?? null;
  return writerIn([claimed]) ?? writerIn(ownProcesses().filter(pid => pid !== process.pid));
}
