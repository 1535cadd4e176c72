import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { composeSavedPage, savedName } from '../../operations/output/saved-page.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { savedPageFolder } from '../package-files.ts';

/** `squad export RUN [FILE]`: saves a run as one HTML file that opens without a hub. */
export async function exportCommand(
  run: string,
  file: string | undefined,
  { force = false }: { force?: boolean },
  context: CliContext,
): Promise<number> {
  const data = await HubClient.ask({ workspace: context.workspace }, 'export_run', { run });
  const page = await composeSavedPage(data, savedPageFolder);
  if (file === '-') {
    context.out.write(page);
    return EXIT.done;
  }
  const path = resolve(file ?? savedName(data.run));
  await writePrivateFile(path, page, force ? 'overwrite' : 'use --force to overwrite it');
  const { run: saved, leftOut } = data;
  printNotes(
    context,
    leftOut.map(what => `Left out: ${what}`),
  );
  return printResult(context, { run: saved, file: path, bytes: Buffer.byteLength(page), leftOut }, () => [
    path,
  ]);
}

/**
 * Only the user can read the file, because it contains what an agent saw and wrote. `ifExists` is the suggestion for an
 * existing file, unless `overwrite` is set.
 */
export async function writePrivateFile(path: string, content: string, ifExists: string): Promise<void> {
  try {
    await writeFile(path, content, { flag: ifExists === 'overwrite' ? 'w' : 'wx', mode: 0o600 });
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isThere = code === 'EEXIST';
    throw new SquadError(
      'INVALID_INPUT',
      isThere ? `${path} already exists` : `Cannot write ${path}: ${message}`,
      {
        suggestions: [isThere ? `Choose another name, or ${ifExists}.` : 'Choose another file.'],
        cause: thrown,
      },
    );
  }
}
