import { rmSync } from 'node:fs';
import {
  environmentFilePath,
  isEnvironmentFileEdited,
  removeEnvironmentFile,
} from '../../../link/environment-file.ts';
import { type Backup, hashOf, installedClients, lastBackup } from './backup.ts';
import { readClientFile, removeClientFile, removeEmptyFolder, writeClientFile } from './client-file.ts';
import type { ClientName } from './clients.ts';
import { withoutEntry } from './plan.ts';

export interface UndoResult {
  outcome: 'restored' | 'deleted' | 'entry_removed' | 'nothing';
  file: string | null;
  message: string;
}

/** Reverts the client's last install, with `project` the last one in that folder. Later changes to the file are kept. */
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
  const result = takeBack(client, last.backup);
  rmSync(last.path, { force: true });
  removeEmptyFolder(backupFolder);
  const { file, madeFolders } = last.backup;
  if (readClientFile(file) !== null) return { ...result, file };
  const folders = madeFolders.map(folder =>
    removeEmptyFolder(folder)
      ? `Removed the folder ${folder}.`
      : `Kept the folder ${folder}, which other programs use by now.`,
  );
  return { ...result, file, message: [result.message, ...folders].join('\n') };
}

function takeBack(client: ClientName, { file, before, afterHash }: Backup): Omit<UndoResult, 'file'> {
  const current = readClientFile(file);
  if (current === null || current === before)
    return { outcome: 'nothing', message: `Nothing to undo: ${file} no longer holds that install.` };
  if (hashOf(current) === afterHash && before !== null) {
    writeClientFile(file, before, 0o600);
    return { outcome: 'restored', message: `${file} is back as it was before the install.` };
  }
  const rest = withoutEntry(client, file, current, before);
  if (rest === current)
    return { outcome: 'nothing', message: `Nothing to undo: ${file} has no entry of Squad any more.` };
  if (before === null && isEmpty(rest)) {
    removeClientFile(file);
    return { outcome: 'deleted', message: `Removed ${file}, which the install had created.` };
  }
  writeClientFile(file, rest, 0o600);
  return {
    outcome: 'entry_removed',
    message: `${file} changed since the install, so only Squad's entry was removed from it.`,
  };
}

/** Nothing but the braces that every JSON file needs. */
const isEmpty = (text: string): boolean => /^\uFEFF?\s*(\{\s*\})?\s*$/.test(text);

/** The environment file serves every installed client, so it goes with the last of them. Null: there is none. */
export function undoEnvironment(home: string, backupFolder: string): string | null {
  const clients = installedClients(backupFolder);
  const file = environmentFilePath(home);
  if (clients.length === 0) {
    if (isEnvironmentFileEdited(home)) return `Kept ${file}: you edited it. Delete it if you do not need it.`;
    return removeEnvironmentFile(home) ? `Removed ${file}.` : null;
  }
  return `Kept ${file}, which ${clients.join(', ')} still ${clients.length === 1 ? 'uses' : 'use'}.`;
}
