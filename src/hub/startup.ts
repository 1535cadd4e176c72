import { rmSync } from 'node:fs';
import { hubRecordPath, recordedPid } from '../link/hub-record.ts';
import { replaceFile } from '../link/replace-file.ts';
import { connect } from '../link/start-hub.ts';

/** A hub on its way out is gone well within this. */
const LOCK_TIMEOUT_MS = 10_000;
const TRY_EVERY_MS = 20;

/** The lock of this home, waiting out a hub that is on its way out; null when one is there to serve. */
export async function acquireHubLock<T>(
  take: () => T | null,
  socketPath: string,
  patienceMs = LOCK_TIMEOUT_MS,
): Promise<T | null> {
  for (
    const until = performance.now() + patienceMs;
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

/** Only for whoever holds the lock of this home. */
export function recordHub(home: string, record: { pid: number; version: string; startedAt: number }): void {
  replaceFile(hubRecordPath(home), `${JSON.stringify(record)}\n`, 0o600);
}

/** Unless another hub has taken this home meanwhile. */
export function forgetHub(home: string): void {
  if (recordedPid(home) === process.pid) rmSync(hubRecordPath(home), { force: true });
}

/** MCP_SERVER_PORT as somebody set it; null when it is not, or is none, which is told. */
export function requestedPort(text: string | undefined, warn: (message: string) => void): number | null {
  if (!text) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  warn(`MCP_SERVER_PORT is ${JSON.stringify(text)}, which is no port (1 to 65535): taken as not set`);
  return null;
}
