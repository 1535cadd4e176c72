import { stat } from 'node:fs/promises';

/** Of the first of these files that is there, in which a CLI records a chat: it grows with every use. */
export async function markOf(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const found = await stat(file).catch(() => null); // not there, or not for us: then nothing is known of it
    if (found) return `${found.size}:${Math.round(found.mtimeMs)}`;
  }
  return null;
}
