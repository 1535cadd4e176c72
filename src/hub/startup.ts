import { rmSync } from 'node:fs';
import { hubRecordPath, recordedPid } from '../link/hub-record.ts';
import { replaceFile } from '../link/replace-file.ts';
import { connect } from '../link/start-hub.ts';

/** Timeout for the lock. A hub that is stopping releases the lock sooner. */
const LOCK_TIMEOUT_MS = 10_000;
const TRY_EVERY_MS = 20;

/** Takes the lock of this home, after waiting for a hub that is stopping. Null when another hub serves this home. */
export async function acquireHubLock<T>(
  take: () => T | null,
  socketPath: string,
  timeoutMs = LOCK_TIMEOUT_MS,
): Promise<T | null> {
  for (
    const until = performance.now() + timeoutMs;
    ;
    await new Promise(wake => setTimeout(wake, TRY_EVERY_MS))
  ) {
    const lock = take();
    if (lock) return lock;
    const other = await connect(socketPath);
    other?.destroy();
    if (other || performance.now() > until) return null;
  }
}

/** Call only while holding the lock of this home. */
export function recordHub(home: string, record: { pid: number; version: string; startedAt: number }): void {
  replaceFile(hubRecordPath(home), `${JSON.stringify(record)}\n`, 0o600);
}

/** Removes the record, unless another hub has taken over this home. */
export function forgetHub(home: string): void {
  if (recordedPid(home) === process.pid) rmSync(hubRecordPath(home), { force: true });
}

/** MCP_SERVER_PORT as a number. Null if it is not set. Null with a warning if it is not a port. */
export function requestedPort(text: string | undefined, warn: (message: string) => void): number | null {
  if (!text) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  warn(`MCP_SERVER_PORT is ${JSON.stringify(text)}, which is not a port (1 to 65535); it is ignored`);
  return null;
}
