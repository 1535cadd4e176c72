import { rmSync } from 'node:fs';
import { hashOf, lastBackup } from './backup.ts';
import { readClientFile, removeClientFile, writeClientFile } from './client-file.ts';
import type { ClientName } from './clients.ts';
import { withoutEntry } from './plan.ts';

export interface UndoResult {
  outcome: 'restored' | 'deleted' | 'entry_removed' | 'nothing';
  file: string | null;
  message: string;
}

/** Takes the client's last install back. Changes made to the file since then are never lost. */
export function undo(client: ClientName, backupFolder: string): UndoResult {
  const last = lastBackup(backupFolder, client);
  if (!last)
    return {
      outcome: 'nothing',
      file: null,
      message: `Nothing to undo: no install for ${client} is recorded.`,
    };
  const { file, before, afterHash } = last.backup;
  const current = readClientFile(file);
  const result = takeBack();
  rmSync(last.path, { force: true });
  return { ...result, file };

  function takeBack(): Omit<UndoResult, 'file'> {
    if (current === null || current === before)
      return { outcome: 'nothing', message: `Nothing to undo: ${file} no longer holds that install.` };
    if (hashOf(current) === afterHash && before === null) {
      removeClientFile(file);
      return { outcome: 'deleted', message: `${file} was made by the install and is removed again.` };
    }
    if (hashOf(current) === afterHash && before !== null) {
      writeClientFile(file, before, 0o600);
      return { outcome: 'restored', message: `${file} is back as it was before the install.` };
    }
    const rest = withoutEntry(client, file, current);
    if (rest === current)
      return { outcome: 'nothing', message: `Nothing to undo: ${file} has no entry of Squad any more.` };
    writeClientFile(file, rest, 0o600);
    const message = `${file} changed since the install, so only Squad's entry was taken out of it.`;
    return { outcome: 'entry_removed', message };
  }
}
