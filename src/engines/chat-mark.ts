import { stat } from 'node:fs/promises';

/**
 * Size and modification time of the first existing chat file. A CLI's chat file grows with every use, so this mark
 * shows whether the chat was used.
 */
export async function markOf(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const found = await stat(file).catch(() => null); // the file is missing or not readable
    if (found) return `${found.size}:${Math.round(found.mtimeMs)}`;
  }
  return null;
}
