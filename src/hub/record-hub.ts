import { rmSync } from 'node:fs';
import { hubRecordPath } from '../link/hub-record.ts';
import { replaceFile } from '../link/replace-file.ts';

/** Only for whoever holds the lock of this home. */
export function recordHub(home: string, record: { pid: number; version: string; startedAt: number }): void {
  replaceFile(hubRecordPath(home), `${JSON.stringify(record)}\n`, 0o600);
}

export function forgetHub(home: string): void {
  rmSync(hubRecordPath(home), { force: true });
}
