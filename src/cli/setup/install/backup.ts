import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { z } from 'zod';
import { ownFolder } from '../../../link/home.ts';
import { replaceFile } from '../../../link/replace-file.ts';
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

/** The client's most recent install that was not undone; with `project` only those to files in that folder count. */
export function lastBackup(
  folder: string,
  client: ClientName,
  project?: string,
): { path: string; backup: Backup } | null {
  const paths = backups(folder)
    .filter(name => name.startsWith(`${client}-2`))
    .sort()
    .map(name => join(folder, name));
  const installs = paths.map(path => ({
    path,
    backup: Backup.parse(JSON.parse(readFileSync(path, 'utf8'))),
  }));
  const isWanted = ({ backup }: { backup: Backup }) =>
    project === undefined || backup.file.startsWith(join(project, sep));
  return installs.findLast(isWanted) ?? null;
}

/** The clients that still have an install to undo, in alphabetical order. */
export const installedClients = (folder: string): string[] =>
  [...new Set(backups(folder).map(name => name.replace(/-2\d{3}-.*$/, '')))].sort();

const backups = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : [];

/** Sorts by time as text. */
const backupPath = (folder: string, client: ClientName, time: number) =>
  join(folder, `${client}-${new Date(time).toISOString().replace(/[:.]/g, '-')}.json`);
