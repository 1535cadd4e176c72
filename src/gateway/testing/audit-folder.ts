import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AuditEntry } from '../../core/ports/gateway.ts';
import type { RunId } from '../../schema/ids.ts';
import { AuditLog, type AuditLogOptions } from '../audit/audit-log.ts';

/**
 * Path for an audit log in a temporary folder. The path does not exist yet, and the folder is removed after the test.
 */
export function auditFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'squad-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'audit');
}

export const anEntry = (name: string, some: Partial<AuditEntry> = {}): AuditEntry => ({
  runId: 'run_0000000001' as RunId,
  roleId: 'coder',
  workspace: '/some/where',
  server: 'files',
  kind: 'tool',
  name,
  decision: 'allowed',
  outcome: 'ok',
  ...some,
});

export function openLog(
  folder: string,
  some: Partial<AuditLogOptions> = {},
): AuditLog & { warned: string[] } {
  const warned: string[] = [];
  let now = 1_700_000_000_000;
  const log = new AuditLog({
    folder,
    clock: { now: () => now++, monotonic: () => now },
    warn: line => warned.push(line),
    ...some,
  });
  onTestFinished(() => log.close());
  return Object.assign(log, { warned });
}

/** Writes an audit log with these entries and closes it. */
export async function writeLog(
  folder: string,
  names: string[],
  some: Partial<AuditLogOptions> = {},
): Promise<void> {
  const log = openLog(folder, some);
  for (const name of names) {
    log.append(anEntry(name));
    if (some.fileBytes !== undefined) await log.flush();
  }
  await log.close();
}

/** Reads all lines of all files, in the order in which they were written. */
export function linesIn(folder: string): string[] {
  const first = (file: string) => Number(/\d+/.exec(file)?.[0] ?? Number.POSITIVE_INFINITY);
  return readdirSync(folder)
    .filter(file => file.endsWith('.jsonl'))
    .sort((a, b) => first(a) - first(b))
    .flatMap(file => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1));
}

export const namesIn = (folder: string): string[] =>
  linesIn(folder).map(line => (JSON.parse(line) as { name: string }).name);
