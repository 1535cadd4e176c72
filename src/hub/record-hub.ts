import { rmSync } from 'node:fs';
import { hubRecordPath, recordedPid } from '../link/hub-record.ts';
import { replaceFile } from '../link/replace-file.ts';

/** Only for whoever holds the lock of this home. */
export function recordHub(home: string, record: { pid: number; version: string; startedAt: number }): void {
  replaceFile(hubRecordPath(home), `${JSON.stringify(record)}\n`, 0o600);
}

/** Unless another hub has taken this home meanwhile. */
export function forgetHub(home: string): void {
  if (recordedPid(home) === process.pid) rmSync(hubRecordPath(home), { force: true });
}
