import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { z } from 'zod';
import {
  environmentFilePath,
  isEnvironmentFileEdited,
  removeEnvironmentFile,
} from '../../../link/environment-file.ts';
import { ownFolder } from '../../../link/home.ts';
import { replaceFile } from '../../../link/replace-file.ts';
import { SquadError } from '../../../schema/error.ts';
import {
  missingFolders,
  readClientFile,
  removeClientFile,
  removeEmptyFolder,
  writeClientFile,
} from './client-file.ts';
import type { ClientName } from './clients.ts';
import { type InstallPlan, withoutEntry } from './plan.ts';

const Backup = z.object({
  file: z.string(),
  /** Null: the install created the file. */
  before: z.string().nullable(),
  afterHash: z.string(),
  /** Folders the install created for the file, innermost first. */
  madeFolders: z.array(z.string()).default([]),
});
type Backup = z.infer<typeof Backup>;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Readable by the owner only, because the file may contain keys. Returns the path of the backup. */
function saveBackup(folder: string, client: ClientName, backup: Backup, now: number): string {
  ownFolder(folder);
  let time = now;
  while (existsSync(backupPath(folder, client, time))) time++;
  const path = backupPath(folder, client, time);
  replaceFile(path, `${JSON.stringify(backup, null, 2)}\n`, 0o600);
  return path;
}

/** The last install of a client that was not undone; with `project` the last one in that folder. */
function lastBackup(
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

/** Clients that have an install to undo, in alphabetical order. */
const installedClients = (folder: string): string[] =>
  [...new Set(backups(folder).map(name => name.replace(/-2\d{3}-.*$/, '')))].sort();

const backups = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : [];

/** Sorts by time as text. */
const backupPath = (folder: string, client: ClientName, time: number) =>
  join(folder, `${client}-${new Date(time).toISOString().replace(/[:.]/g, '-')}.json`);

/** Writes the planned change and a backup to undo it. Does nothing if the plan changes nothing. */
export function apply(plan: InstallPlan, backupFolder: string, now = Date.now()): void {
  if (!plan.changed) return;
  if (readClientFile(plan.file) !== plan.before)
    throw new SquadError(
      'CONFIG_INVALID',
      `${plan.file} changed after the diff was shown. Nothing was written.`,
      {
        suggestions: [
          `Run \`squad install ${plan.client}\` again; close the client if it keeps writing the file.`,
        ],
      },
    );
  // The backup comes first, so that an interrupted install can be undone.
  const { client, file, before, after } = plan;
  const madeFolders = missingFolders(file);
  const backup = saveBackup(
    backupFolder,
    client,
    { file, before, afterHash: hashOf(after), madeFolders },
    now,
  );
  try {
    writeClientFile(file, after, plan.modeIfNew);
  } catch (error) {
    rmSync(backup, { force: true });
    throw error;
  }
}

interface UndoResult {
  outcome: 'restored' | 'deleted' | 'entry_removed' | 'nothing';
  file: string | null;
  message: string;
}

/** Undoes the last install of a client, with `project` the last one in that folder. Keeps later changes to the file. */
export function undo(client: ClientName, backupFolder: string, project?: string): UndoResult {
  const last = lastBackup(backupFolder, client, project);
  if (!last) {
    const where = project === undefined ? '' : ` in ${project}`;
    return {
      outcome: 'nothing',
      file: null,
      message: `Nothing to undo: no install for ${client}${where} is recorded.`,
    };
  }
  const result = restore(client, last.backup);
  rmSync(last.path, { force: true });
  removeEmptyFolder(backupFolder);
  const { file, madeFolders } = last.backup;
  if (readClientFile(file) !== null) return { ...result, file };
  const folders = madeFolders.map(folder =>
    removeEmptyFolder(folder)
      ? `Removed the folder ${folder}.`
      : `Kept the folder ${folder}, which is not empty.`,
  );
  return { ...result, file, message: [result.message, ...folders].join('\n') };
}

function restore(client: ClientName, { file, before, afterHash }: Backup): Omit<UndoResult, 'file'> {
  const current = readClientFile(file);
  if (current === null || current === before)
    return { outcome: 'nothing', message: `Nothing to undo: ${file} no longer has that install.` };
  if (hashOf(current) === afterHash && before !== null) {
    writeClientFile(file, before, 0o600);
    return { outcome: 'restored', message: `Restored ${file}.` };
  }
  const rest = withoutEntry(client, file, current, before);
  if (rest === current)
    return { outcome: 'nothing', message: `Nothing to undo: ${file} has no Squad entry.` };
  if (before === null && isEmpty(rest)) {
    removeClientFile(file);
    return { outcome: 'deleted', message: `Removed ${file}, which the install had created.` };
  }
  writeClientFile(file, rest, 0o600);
  return {
    outcome: 'entry_removed',
    message: `${file} changed since the install, so only the Squad entry was removed.`,
  };
}

/** Only the braces that every JSON file needs. */
const isEmpty = (text: string): boolean => /^\uFEFF?\s*(\{\s*\})?\s*$/.test(text);

/** All installed clients share the environment file, so it is removed with the last one. Null without one. */
export function undoEnvironment(home: string, backupFolder: string): string | null {
  const clients = installedClients(backupFolder);
  const file = environmentFilePath(home);
  if (clients.length === 0) {
    if (isEnvironmentFileEdited(home)) return `Kept ${file}: you edited it. Delete it if you do not need it.`;
    return removeEnvironmentFile(home) ? `Removed ${file}.` : null;
  }
  return `Kept ${file}, which ${clients.join(', ')} still ${clients.length === 1 ? 'uses' : 'use'}.`;
}
