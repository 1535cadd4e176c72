import { rmSync } from 'node:fs';
import { SquadError } from '../../../schema/error.ts';
import { hashOf, saveBackup } from './backup.ts';
import { missingFolders, readClientFile, writeClientFile } from './client-file.ts';
import type { InstallPlan } from './plan.ts';

/** Writes what `plan` showed and keeps what it takes to undo it. Does nothing for a plan that changes nothing. */
export function apply(plan: InstallPlan, backupFolder: string, now = Date.now()): void {
  if (!plan.changed) return;
  if (readClientFile(plan.file) !== plan.before)
    throw new SquadError(
      'CONFIG_INVALID',
      `${plan.file} changed after the diff was made. Nothing was written.`,
      {
        suggestions: [
          `Run \`squad install ${plan.client}\` again; close the client if it keeps writing the file.`,
        ],
      },
    );
  // The backup comes first: an install that was cut short can still be undone.
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
