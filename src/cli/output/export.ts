import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { composeSavedPage, savedName } from '../../operations/output/saved-page.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { savedPageFolder } from '../package-files.ts';
import { printJson } from '../terminal/json.ts';
import { wrap } from '../terminal/width.ts';

/** `squad export RUN [FILE]`: a run as one HTML file that opens without a hub. */
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
  await write(path, page, force);
  const bytes = Buffer.byteLength(page);
  if (context.json) printJson(context.out, { run: data.run, file: path, bytes, leftOut: data.leftOut });
  else print(context, [path]);
  for (const what of data.leftOut)
    for (const line of wrap(`Left out: ${what}`, context.err.columns)) context.err.write(`${line}\n`);
  return EXIT.done;
}

async function write(path: string, content: string, force: boolean): Promise<void> {
  try {
    // It holds what an agent saw and wrote: for the user's eyes until they pass it on.
    await writeFile(path, content, { flag: force ? 'w' : 'wx', mode: 0o600 });
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new SquadError('INVALID_INPUT', `There is a file ${path}`, {
        suggestions: ['Give another name, or --force to write over it.'],
      });
    throw new SquadError('INVALID_INPUT', `${path} cannot be written: ${message}`, {
      suggestions: ['Give another file, or - for standard output.'],
      cause: thrown,
    });
  }
}
