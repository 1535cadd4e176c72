import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ownFolder } from '../../link/home.ts';
import { replaceFile } from '../../link/replace-file.ts';
import type { ClientName } from './clients.ts';

const Backup = z.object({
  file: z.string(),
  /** Null: the file was made by the install. */
  before: z.string().nullable(),
  afterHash: z.string(),
  /** Folders the install created for the file, innermost first. */
  madeFolders: z.array(z.string()).default([]),
});
export type Backup = z.infer<typeof Backup>;

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Owner-only, because a client's file may hold keys. Returns the backup's path. */
export function saveBackup(folder: string, client: ClientName, backup: Backup, now: number): string {
  ownFolder(folder);
  let time = now;
  while (existsSync(backupPath(folder, client, time))) time++;
  const path = backupPath(folder, client, time);
  replaceFile(path, `${JSON.stringify(backup, null, 2)}\n`, 0o600);
  return path;
}

/** The client's most recent install that was not undone. */
export function lastBackup(folder: string, client: ClientName): { path: string; backup: Backup } | null {
  const isOurs = (name: string) => name.startsWith(`${client}-2`);
  const name = backups(folder).filter(isOurs).sort().at(-1);
  if (name === undefined) return null;
  const path = join(folder, name);
  return { path, backup: Backup.parse(JSON.parse(readFileSync(path, 'utf8'))) };
}

/** The clients that still have an install to undo, in alphabetical order. */
export const installedClients = (folder: string): string[] =>
  [...new Set(backups(folder).map(name => name.replace(/-2\d{3}-.*$/, '')))].sort();

const backups = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : [];

/** Sorts by time as text. */
const backupPath = (folder: string, client: ClientName, time: number) =>
  join(folder, `${client}-${new Date(time).toISOString().replace(/[:.]/g, '-')}.json`);
