import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The path with links resolved, as far as it is there. */
export async function nearestReal(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await nearestReal(dirname(path)), basename(path));
  }
}
