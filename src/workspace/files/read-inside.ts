import { readFile, realpath, stat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';

/** A text file that must lie inside a folder, links resolved. The message of what it throws follows the file's name. */
export async function readInside(root: string, file: string, largest: number): Promise<string> {
  const path = await realpath(resolve(root, file)).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`);
  });
  const inside = relative(await realpath(root), path);
  if (inside === '..' || inside.startsWith(`..${sep}`)) throw new Error('lies outside the workspace');
  const { size, isFile } = await stat(path).then(found => ({ size: found.size, isFile: found.isFile() }));
  if (!isFile) throw new Error('is not a file');
  if (size > largest) throw new Error(`is larger than ${largest} bytes`);
  return readFile(path, 'utf8');
}
